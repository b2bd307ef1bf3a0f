// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of a program, carries their output, and ends them all together.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::tools {

struct Launch {
  std::vector<std::string> program;  // and its arguments
  uint32_t ranks = 1;
  uint32_t devices = 8;                 // on this machine
  uint32_t visible_devices = 8;         // of those
  std::string rank_table;               // path
  std::chrono::nanoseconds timeout{0};  // 0: none
  bool prefix = true;
};

/// Blocks until all ranks have ended. The exit code: 0 if all were fine; that of the first rank
/// that failed, 128 + signal if a signal ended it or us; 124 after the timeout; 127 if the program
/// cannot be executed.
int launch(const Launch& launch);

}  // namespace weft::tools
