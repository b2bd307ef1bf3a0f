// SPDX-License-Identifier: Apache-2.0
// `weft policy`: what is to be done with a policy file.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <string_view>

#include "bench/call_options.hpp"
#include "bench/operations.hpp"
#include "bench/words.hpp"
#include "command.hpp"
#include "options.hpp"
#include "policy/verbs.hpp"

namespace weft::tools {
namespace {

constexpr const char* kUsageLine =
    "weft policy lint [FILE]\n       weft policy show [FILE]\n       weft policy diff FILE FILE\n"
    "       weft policy diff FILE FILE --measure -n N [options]";
constexpr const char* kAbout =
    R"(Without FILE, about the policy that a program would read: the file that WEFT_POLICY names, or else
etc/weft/policy.toml of the installation. No ranks and no device are needed.

  lint  what is wrong in it: errors, with which no communicator can be made; and as warnings, rules
        that never apply on this machine, and why. Rules that match some calls both and differ are
        counted; --overlaps lists them.
  show  what holds in the end: every setting with its source, what decides from strong to weak, and
        the rules in the order in which they are tried.
  diff  for which calls the two files choose differently, whatever the order of their rules, and in
        which settings they differ. --measure runs N ranks of this machine and times, for every
        operation and size for which the two choose differently, both of them: blocks of calls of
        either follow one another in pairs, in an order that is drawn for each pair, as in `weft
        ab`, in two launches. "ratio" is the time of the second file by that of the first, the median over pairs,
        with its interval of 95 % confidence. There is a verdict where that is no chance and the
        difference more than 5 %; that any of them is wrong has a probability of at most 3 %.
        Different settings of [transport] and [memory] make all sizes differ.

share/doc/weft/policy.md of the installation has every key of a policy, also those of [[experiment]].

Exit code: 0 if all is right, or the files do the same; 1 if there are errors (with --strict also
warnings), or the files differ; 2 for a wrong command line. With --measure: 0 unless the second file
is clearly slower somewhere, or a result is wrong, or something failed.)";

constexpr std::array<std::string_view, 3> kVerbs = {"lint", "show", "diff"};

struct Measuring {
  bool wanted = false;
  Spec spec;
  std::string ops;
};

void check(const Options& options, const std::string& verb) {
  const size_t files = options.words().size() - 1;
  if (verb == "diff" && files != 2) throw UsageError("diff needs two files");
  if (verb != "diff" && files > 1) {
    throw UsageError(fmt::format("'{}' is one word too many", options.words()[2]));
  }
  for (const std::string& name : options.given()) {
    const bool lints = name == "strict" || name == "overlaps";
    refuse(lints && verb != "lint", fmt::format("--{} is for lint", name));
    refuse(!lints && verb != "diff", fmt::format("--{} is for diff", name));
    refuse(!lints && !options.given("measure"), fmt::format("--{} is for --measure", name));
  }
}

void add_measuring(Options& options, Measuring& measuring) {
  Spec& spec = measuring.spec;
  spec.end = uint64_t{16} << 20;
  spec.time = std::chrono::seconds(20);
  options.flag("measure", "diff: measure where they differ; all options below are for this",
               measuring.wanted);
  add_ranks_option(options, spec, 2);
  options.value("time", "T", "how long: 20s, 2m (20s)",
                [&spec](const std::string& text) { spec.time = parse_time(text); });
  options.value("ops", "A,B", "operations (all that algorithms do)",
                [&measuring](const std::string& text) { measuring.ops = text; });
  add_sizes_options(options, spec, "16M");
  add_type_option(options, spec);
  add_threads_option(options, spec);
  add_placement_options(options, spec);
  add_timeout_option(options, spec, 120);
}

int measure(const Options& options, const Measuring& measuring) {
  const Spec& spec = measuring.spec;
  refuse(!options.given("ranks"), "-n is missing: how many ranks?");
  refuse(spec.begin > spec.end, "-b is larger than -e");
  return measure_policies(options.words()[1], options.words()[2], spec,
                          parse_operations(measuring.ops, spec.type));
}

}  // namespace

int policy_command(const Words& words) {
  bool strict = false;
  bool overlaps = false;
  Measuring measuring;
  Options options(kUsageLine, kAbout);
  options.flag("overlaps", "lint: list rules that match some calls both and differ", overlaps);
  options.flag("strict", "lint: fail for warnings too", strict);
  add_measuring(options, measuring);
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
  return measuring.wanted ? measure(options, measuring) : diff_policies(given[1], given[2]);
}

}  // namespace weft::tools
