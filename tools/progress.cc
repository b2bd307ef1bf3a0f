// SPDX-License-Identifier: Apache-2.0
#include "progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace weft::tools {

std::string bar_text(double part) {
  constexpr int kCells = 30;
  const double inside = std::clamp(part, 0.0, 1.0);
  const int full = int(inside * kCells);
  return fmt::format("[{:#<{}}{:-<{}}] {:>3.0f} %", "", full, "", kCells - full,
                     std::floor(inside * 100));
}

ProgressLine::ProgressLine(double seconds)
    : on_terminal_(isatty(STDERR_FILENO) == 1), seconds_(seconds) {}

void ProgressLine::show(const std::string& what) {
  if (!on_terminal_) return;
  const double gone = std::chrono::duration<double>(Clock::now() - begin_).count();
  fmt::print(stderr, "\r\033[K{} {:>3.0f} s left  {}", bar_text(gone / seconds_),
             std::max(0.0, seconds_ - gone), what);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

void ProgressLine::say(const std::string& text) {
  clear();
  fmt::print(stderr, "{}\n", text);
}

void ProgressLine::note(const std::string& text) {
  if (!on_terminal_) fmt::print(stderr, "{}\n", text);
}

}  // namespace weft::tools
