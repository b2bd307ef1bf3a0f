// SPDX-License-Identifier: Apache-2.0
// The rank table of ranks that are all on this machine.
#pragma once

#include <cstdint>
#include <string>

#include "process.hpp"

namespace weft::tools {

/// Devices of this machine for `ranks` ranks: WEFT_DEVICES if it is set, else 8 or more, one for
/// each rank. Throws UsageError if WEFT_DEVICES is no number.
uint32_t device_count(uint32_t ranks);

/// A rank table, version 1.0, JSON; rank i is on device i % devices.
std::string rank_table(uint32_t ranks, uint32_t devices);

/// The table as a file in memory that nobody can change. It is gone with the last process that
/// holds it.
Fd rank_table_file(const std::string& table);

}  // namespace weft::tools
