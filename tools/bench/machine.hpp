// SPDX-License-Identifier: Apache-2.0
// The machine that a report is about.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weft::tools {

/// "2 cores (AMD EPYC)": those that this process may use.
std::string machine_text();
/// How busy it is, with a warning if that is too much for measuring.
std::string load_text();
/// That warning as a comment, on a line; nothing if there is none.
std::string load_warning();
/// machine_text() as an object.
nlohmann::ordered_json machine_json();

}  // namespace weft::tools
