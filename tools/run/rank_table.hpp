// SPDX-License-Identifier: Apache-2.0
// The rank table of ranks that are all on this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "process.hpp"

namespace weft::tools {

struct Devices {
  uint32_t on_host = 0;           // the value of WEFT_DEVICES
  std::vector<uint32_t> visible;  // their ids on the host; never empty
};

/// The devices of this machine for `ranks` ranks: WEFT_DEVICES if it is set, else 8 or more, one
/// for each rank, as far as there may be so many; the visible ones are those that
/// ASCEND_RT_VISIBLE_DEVICES lists, or all. Throws UsageError if one of the two is wrong.
Devices find_devices(uint32_t ranks);

/// A rank table, version 1.0, JSON; rank i is on the visible device i % number of those.
std::string rank_table(uint32_t ranks, const Devices& devices);

/// The table as a file in memory that nobody can change. It is gone with the last process that
/// holds it.
Fd rank_table_file(const std::string& table);

}  // namespace weft::tools
