// SPDX-License-Identifier: Apache-2.0
// `weft policy`: what is to be done with a policy file.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "command.hpp"
#include "options.hpp"
#include "policy/verbs.hpp"

namespace weft::tools {
namespace {

constexpr const char* kUsageLine =
    "weft policy lint [FILE]\n       weft policy show [FILE]\n       weft policy diff FILE FILE";
constexpr const char* kAbout =
    R"(Without FILE, about the policy that a program would read: the file that WEFT_POLICY names, or else
etc/weft/policy.toml of the installation. No ranks and no device are needed.

  lint  what is wrong in it: errors, with which no communicator can be made; and as warnings, rules
        that never apply on this machine, and why. Rules that match some calls both and differ are
        counted; --overlaps lists them.
  show  what holds in the end: every setting with its source, what decides from strong to weak, and
        the rules in the order in which they are tried.
  diff  for which calls the two files choose differently, whatever the order of their rules, and in
        which settings they differ.

Exit code: 0 if all is right, or the files do the same; 1 if there are errors (with --strict also
warnings), or the files differ; 2 for a wrong command line.)";

constexpr std::array<std::string_view, 3> kVerbs = {"lint", "show", "diff"};

void check(const Options& options, const std::string& verb) {
  const size_t files = options.words().size() - 1;
  if (verb == "diff" && files != 2) throw UsageError("diff needs two files");
  if (verb != "diff" && files > 1) {
    throw UsageError(fmt::format("'{}' is one word too many", options.words()[2]));
  }
  for (const char* name : {"strict", "overlaps"}) {
    if (options.given(name) && verb != "lint") {
      throw UsageError(fmt::format("--{} is for lint", name));
    }
  }
}

}  // namespace

int policy_command(const Words& words) {
  bool strict = false;
  bool overlaps = false;
  Options options(kUsageLine, kAbout);
  options.flag("overlaps", "lint: list rules that match some calls both and differ", overlaps);
  options.flag("strict", "lint: fail for warnings too", strict);
  if (!options.parse(words)) return kOk;
  const Words& given = options.words();
  if (given.empty()) throw UsageError("lint, show or diff?");
  const std::string& verb = given[0];
  if (std::find(kVerbs.begin(), kVerbs.end(), verb) == kVerbs.end()) {
    throw UsageError(
        fmt::format("'{}' is not lint, show or diff{}", verb, did_you_mean(verb, kVerbs)));
  }
  check(options, verb);
  const std::string file = given.size() > 1 ? given[1] : "";
  if (verb == "lint") return lint_policy(file, strict, overlaps);
  if (verb == "show") return show_policy(file);
  return diff_policies(given[1], given[2]);
}

}  // namespace weft::tools
