// SPDX-License-Identifier: Apache-2.0
// What a subcommand of `weft` is, and how one ends.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace weft::tools {

/// Exit codes of the program. `weft run` also passes on those of the ranks.
enum ExitCode : int { kOk = 0, kFailed = 1, kUsage = 2 };

using Words = std::vector<std::string>;

/// The command line is wrong: reported in one line, exit code kUsage.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What was asked for could not be done: reported in one line, exit code kFailed.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// " (did you mean 'x'?)", or nothing if no known word is near.
std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> known);

// The subcommands: the words behind their name; the exit code of the program. They throw the two
// above and weft::Error.
int run_command(const Words& words);
int bench_command(const Words& words);
int explain_command(const Words& words);
int plugins_command(const Words& words);
int policy_command(const Words& words);
int check_command(const Words& words);
int env_command(const Words& words);
int new_command(const Words& words);
int ab_command(const Words& words);
int tune_command(const Words& words);

}  // namespace weft::tools
