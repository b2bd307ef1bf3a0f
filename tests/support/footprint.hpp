// SPDX-License-Identifier: Apache-2.0
// What a plugin must not change by being loaded and asked what it is (P9): the environment, signal
// handlers, threads, open files.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>
#include <string>

namespace weft::test {

inline std::set<std::string> footprint() {
  std::set<std::string> all;
  for (char** each = environ; *each != nullptr; ++each) all.insert(*each);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) != 0) continue;
    all.insert("signal " + std::to_string(number) + " is handled at " +
               std::to_string(reinterpret_cast<uintptr_t>(action.sa_handler)));
  }
  const auto count = [](const char* folder) {
    return std::to_string(std::distance(std::filesystem::directory_iterator(folder), {}));
  };
  all.insert("threads: " + count("/proc/self/task"));
  all.insert("open files: " + count("/proc/self/fd"));
  return all;
}

/// What `before` had not; empty if nothing is new.
inline std::string news(const std::set<std::string>& before, const std::set<std::string>& after) {
  std::string all;
  for (const std::string& each : after) {
    if (before.find(each) == before.end()) all += each + '\n';
  }
  return all;
}

}  // namespace weft::test
