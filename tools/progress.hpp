// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "process.hpp"

namespace weft::tools {

/// One line on a terminal that is written again and again; elsewhere, nothing but notes.
class ProgressLine {
 public:
  /// `seconds` is what all is to take.
  explicit ProgressLine(double seconds);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const std::string& what);
  void clear();
  /// A line of its own on standard error: in any case, or only where there is no terminal.
  void say(const std::string& text);
  void note(const std::string& text);

 private:
  const bool on_terminal_;
  const double seconds_;
  const Clock::time_point begin_ = Clock::now();
  bool shown_ = false;
};

/// "[####------]  40 %", of a part from 0 to 1.
[[nodiscard]] std::string bar_text(double part);

}  // namespace weft::tools
