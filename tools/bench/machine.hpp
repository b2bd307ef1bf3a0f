// SPDX-License-Identifier: Apache-2.0
// The machine that a report is about.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace weft::tools {

/// "2 cores (AMD EPYC)": those that this process may use.
std::string machine_text();
/// The same as an object.
nlohmann::ordered_json machine_json();

}  // namespace weft::tools
