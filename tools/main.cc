// SPDX-License-Identifier: Apache-2.0
// The program `weft`: finds the subcommand and turns what it throws into a line and an exit code.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>

#include "base/names.hpp"
#include "command.hpp"

namespace weft::tools {

std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> known) {
  const std::string_view near = nearest(wrong, known);
  return near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near);
}

namespace {

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*call)(const Words& words);
};

constexpr std::array<Command, 10> kCommands = {{
    {"run", "start the ranks of a program on this machine", run_command},
    {"bench", "measure and check a collective operation", bench_command},
    {"ab", "tell which of two algorithms is the faster", ab_command},
    {"tune", "measure all algorithms and write the policy that follows", tune_command},
    {"explain", "tell how one call is carried out, and why so", explain_command},
    {"policy", "check, show or compare policies", policy_command},
    {"plugins", "list the plugins of this installation", plugins_command},
    {"new", "write the beginnings of a plugin", new_command},
    {"check", "prove algorithms, or show how they are wrong", check_command},
    {"env", "list the environment variables, and what is wrong with them", env_command},
}};

void print_help() {
  fmt::print("Usage: weft SUBCOMMAND [options]\n\n");
  for (const Command& each : kCommands) fmt::print("  {:<10}{}\n", each.name, each.summary);
  fmt::print("  {:<10}this text\n\n", "help");
  fmt::print("`weft SUBCOMMAND --help` tells all of a subcommand.\n");
  fmt::print("Exit codes: 0 fine, 1 failed, 2 wrong command line.\n");
}

const Command& find_command(const std::string& name) {
  std::vector<std::string_view> names = {"help"};
  for (const Command& each : kCommands) {
    if (each.name == name) return each;
    names.push_back(each.name);
  }
  throw UsageError(fmt::format("'{}' is no subcommand{}", name, did_you_mean(name, names)));
}

int dispatch(const Words& words) {
  if (words.empty()) throw UsageError("which subcommand?");
  if (words[0] != "help" && words[0] != "--help" && words[0] != "-h") {
    return find_command(words[0]).call(Words(words.begin() + 1, words.end()));
  }
  if (words.size() == 1) {
    print_help();
    return kOk;
  }
  return find_command(words[1]).call({"--help"});
}

int guarded(const Words& words) {
  const bool known =
      !words.empty() && std::any_of(kCommands.begin(), kCommands.end(),
                                    [&](const Command& each) { return each.name == words[0]; });
  const std::string name = known ? "weft " + words[0] : "weft";
  try {
    const int code = dispatch(words);
    if (std::fflush(stdout) == 0) return code;
    fmt::print(stderr, "{}: cannot write to standard output\n", name);
    return kFailed;
  } catch (const UsageError& error) {
    fmt::print(stderr, "{}: {}\nSee `{} {}`.\n", name, error.what(), name,
               known ? "--help" : "help");
    return kUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", name, error.what());
    return kFailed;
  }
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  return weft::tools::guarded(weft::tools::Words(argv + 1, argv + argc));
}
