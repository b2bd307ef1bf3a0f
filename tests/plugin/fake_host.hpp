// SPDX-License-Identifier: Apache-2.0
// A stand-in for the services that the core gives to every plugin.
#pragma once

#include <cstddef>
#include <string>

#include "weft/host.h"

namespace weft::test {

const weft_host& fake_host();

/// The reason given last on this thread; log lines of the process.
std::string& last_reason();
size_t log_lines();

}  // namespace weft::test
