// SPDX-License-Identifier: Apache-2.0
// `weft bench`: measures and checks a collective operation.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.hpp"
#include "bench/call_options.hpp"
#include "bench/creation_report.hpp"
#include "bench/limit.hpp"
#include "bench/op.hpp"
#include "bench/report.hpp"
#include "bench/spec.hpp"
#include "bench/supervisor.hpp"
#include "bench/words.hpp"
#include "command.hpp"
#include "options.hpp"

namespace weft::tools {
namespace {

constexpr std::string_view kAll = "all";

constexpr uint64_t kCommunicators = 5;  // of --init
constexpr uint64_t kMostCommunicators = 1000;

constexpr const char* kUsageLine = "weft bench OPERATION|all|--init -n N [options]";
constexpr const char* kAbout =
    R"(Measures OPERATION on N ranks of this machine and checks every result; "all" measures one
after the other, each with those of the options that it has.

{}
A call is the HCCL function and aclrtSynchronizeStream; with --queue N the stream is synchronised
after every N calls only, which then follow one another on it. Calls are timed in batches of at least
100 us that start together; the time of a batch is that of its slowest rank.

"bytes" is the larger buffer of the rank with the largest one: a size that is not a whole number of
elements, or of blocks where every rank has an equal one, is rounded down to one (up, if it is less
than one element to a block). Blocks of the V operations are uneven, one of N >= 3 is empty; gaps
between them must stay as they are and are not counted.

"bus GB/s" counts the bytes that must cross between ranks: bytes / time times the factor above.

send_recv passes a message around the ring: all ranks to their right, the even ones send first and
the odd ones receive first. Of two ranks that is a ping-pong, and the time is that of one way, half
of a call. batch_send_recv sends half of the bytes to either neighbour while as much comes in.

--limit runs a hand-written loop of the operation in turn with it: flags and the same kernels on the
same memory, without HCCL and streams. "ratio" is the median over that loop's median.

--init makes N communicators (--iters, 5) one after the other and then destroys them; no call is made.
The first one includes what a process does once: reading the policy, loading plugins.

--overlap times the calls once more while the host computes, between launch and synchronisation, about
as long as they take. "hidden" is the part of the computing that then takes no time; it needs a core
that no rank's thread uses. Below 0, calls and computing hinder each other.

"wrong" counts elements, on all ranks, before and after the timing. Exit code: 0 if all is right, 1 if
something is wrong or failed, 2 for a wrong command line.)";

const char* bus_text(const Operator& each) {
  if (each.blocks == Blocks::kNone) return "-";
  switch (each.bus) {
    case BusFactor::kOthers:
      return "(N-1)/N";
    case BusFactor::kTwiceOthers:
      return "2(N-1)/N";
    default:
      return "1";
  }
}

std::string about() {
  std::string table = "OPERATION         HCCL function       bus factor  options of its own\n";
  for (const Operator& each : kOperators) {
    std::string options;
    if (each.reduces()) options += " --op";
    if (each.root()) options += " --root";
    if (each.in_place()) options += " --in-place";
    if (options.empty()) options = " -";
    table +=
        fmt::format("{:<17} {:<19} {:<11}{}\n", each.name, each.function, bus_text(each), options);
  }
  return fmt::format(kAbout, table);
}

/// Flags that are not members of Spec.
struct Flags {
  bool json = false;
  bool no_check = false;
};

// The options that --init has.
constexpr std::string_view kOptionsOfInit[] = {"init",    "ranks", "threads", "iters",
                                               "timeout", "json",  "help"};

void add_options(Options& options, Spec& spec, Flags& flags) {
  add_ranks_option(options, spec, 1);
  add_sizes_options(options, spec, "64M");
  add_type_option(options, spec);
  add_reduction_option(options, spec);
  add_root_option(options, spec);
  add_threads_option(options, spec);
  add_bind_option(options, spec);
  add_memory_option(options, spec);
  add_in_place_option(options, spec);
  add_queue_option(options, spec);
  options.flag("no-check", "do not check the results", flags.no_check);
  options.value(
      "iters", "N", "timed calls of a size, instead of --min-time",
      [&](const std::string& text) { spec.iterations = parse_count(text, 1, uint64_t{1} << 40); });
  options.value("min-time", "S", "seconds of timed calls of a size (0.3), at least 5 batches",
                [&](const std::string& text) { spec.min_time = parse_seconds(text); });
  add_timeout_option(options, spec, 120);
  options.flag("limit", "measure the hand-written loop beside it, and the ratio to that",
               spec.limit);
  options.flag("overlap", "measure how much computing the calls hide", spec.overlap);
  options.flag("init", "measure what communicators cost, not an operation", spec.creation);
  options.flag("json", "print one JSON document at the end", flags.json);
}

void check_limit(const Spec& spec) {
  refuse(!Limit::offers(spec.op), fmt::format("{} has no --limit", facts(spec.op).name));
  refuse(spec.memory != MemoryKind::kHeap, "--limit: only with --memory heap");
  refuse(spec.in_place, "--limit: not with --in-place");
  refuse(spec.ranks < 2 || spec.ranks > Limit::kMostRanks,
         fmt::format("--limit: 2 to {} ranks", Limit::kMostRanks));
}

int measure_creation(const Spec& spec, bool json) {
  CreationReport report(spec, json);
  try {
    const int code = supervise(spec, report);
    if (code != 0) return code;
  } catch (const Failure& failure) {
    report.print(failure.what());
    throw;
  }
  report.print("");
  return kOk;
}

void check_creation(const Options& options, Spec& spec) {
  refuse(!options.words().empty(), "--init measures no operation, only what comes before");
  for (const std::string& name : options.given()) {
    const bool known = std::ranges::find(kOptionsOfInit, name) != std::end(kOptionsOfInit);
    refuse(!known, fmt::format("--init has no --{}", name));
  }
  if (spec.iterations == 0) spec.iterations = kCommunicators;
  refuse(spec.iterations > kMostCommunicators,
         fmt::format("--iters: --init makes at most {} communicators", kMostCommunicators));
}

/// Nothing: all of them.
std::optional<Op> parse_what(const Words& words) {
  if (words.size() == 1 && words[0] == kAll) return std::nullopt;
  return parse_operator(words, ", or all");
}

// What does not fit together, whatever the operation.
void check_options(const Options& options, const Spec& spec) {
  refuse(!options.given("ranks"), "-n is missing: how many ranks?");
  refuse(spec.begin > spec.end, "-b is larger than -e");
  refuse(spec.root >= spec.ranks, fmt::format("--root: there is no rank {}", spec.root));
  refuse(spec.iterations == 0 && spec.min_time >= spec.timeout,
         "--min-time must be less than --timeout");
}

int measure(const Spec& spec, bool json) {
  Report report(spec, json);
  report.begin();
  try {
    const int code = supervise(spec, report);
    if (code != 0) {
      report.end(fmt::format("interrupted by signal {} ({})", code - 128, strsignal(code - 128)));
      return code;
    }
  } catch (const Failure& failure) {
    report.end(failure.what());
    throw;
  }
  report.end("");
  if (report.wrong() == 0) return kOk;
  throw Failure(fmt::format(
      fmt::runtime(spec.op == Op::kBarrier ? "{} times a rank left a barrier before another came"
                                           : "{} elements are wrong"),
      report.wrong()));
}

// Up to the first that fails.
int measure_all(const Spec& spec) {
  for (const Operator& each : kOperators) {
    if (each.op == Op::kSendRecv && spec.ranks == 1) continue;
    Spec one = spec;
    one.op = each.op;
    one.in_place = spec.in_place && each.in_place();
    try {
      if (const int code = measure(one, false); code != kOk) return code;
    } catch (const Failure& failure) {
      throw Failure(fmt::format("{}: {}", each.name, failure.what()));
    }
    fmt::print("\n");
  }
  return kOk;
}

}  // namespace

int bench_command(const Words& words) {
  Spec spec;
  Flags flags;
  Options options(kUsageLine, about());
  add_options(options, spec, flags);
  if (!options.parse(words)) return kOk;
  if (spec.creation) check_creation(options, spec);
  const std::optional<Op> op = spec.creation ? std::nullopt : parse_what(options.words());
  spec.op = op.value_or(spec.op);
  spec.check = !flags.no_check;
  check_options(options, spec);
  if (op) {
    check_operator(options, spec, {"begin", "end", "factor", "type", "memory"});
    if (spec.limit) check_limit(spec);
  } else if (!spec.creation) {
    refuse(spec.limit, "all has no --limit");
    refuse(flags.json, "all has no --json: it would be several documents");
    refuse(!reducible(spec.type), fmt::format("{} cannot be reduced", type_name(spec.type)));
  }
  take_devices(spec);
  if (spec.creation) return measure_creation(spec, flags.json);
  return op ? measure(spec, flags.json) : measure_all(spec);
}

}  // namespace weft::tools
