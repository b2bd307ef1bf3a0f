// SPDX-License-Identifier: Apache-2.0
// Plugins are asked for schedules in the process of a tool: what they do to it is told.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::tools {

/// While it lives, a plugin that crashes, calls exit() or does not come back ends the program with
/// a line that names the algorithm, and exit code 1. One at a time.
class LastWords {
 public:
  /// `command` begins the line: "weft check"; `remedy` ends it.
  explicit LastWords(std::string command, std::string remedy = "");
  ~LastWords();
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

  /// Before each time that the algorithm is asked.
  void prepare(const std::string& algorithm, uint32_t ranks,
               std::chrono::seconds patience = kPatience);

  static constexpr std::chrono::seconds kPatience{300};

 private:
  const std::string command_;
  const std::string remedy_;
  std::vector<char> stack_;
};

}  // namespace weft::tools
