// SPDX-License-Identifier: Apache-2.0
// `weft bench`: measures and checks a collective operation.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.hpp"
#include "base/op_names.hpp"
#include "bench/report.hpp"
#include "bench/spec.hpp"
#include "bench/supervisor.hpp"
#include "command.hpp"
#include "options.hpp"
#include "run/rank_table.hpp"

namespace weft::tools {
namespace {

constexpr uint64_t kMostRanks = 256;  // sums of more could not be exact in every type

constexpr const char* kUsageLine = "weft bench OPERATION -n N [options]";
constexpr const char* kAbout =
    R"(Measures OPERATION on N ranks of this machine and checks every result. OPERATION is all_reduce,
broadcast, all_gather, reduce_scatter, all_to_all or barrier.

A call is the HCCL function and aclrtSynchronizeStream. Calls are timed in batches of at least 100 us
that start together; the time of a batch is that of its slowest rank. "bytes" is the larger buffer of
one rank: a size that is not a whole number of elements, or of blocks where every rank has one, is
rounded down to one (up, if it is less than one element to a block).

"bus GB/s" counts the bytes that must cross between ranks: bytes / time times 2(N-1)/N for
all_reduce, (N-1)/N for all_gather, reduce_scatter and all_to_all, 1 for broadcast.

"wrong" counts elements, on all ranks, before and after the timing. Exit code: 0 if all is right, 1 if
something is wrong or failed, 2 for a wrong command line.)";

int parse_word(const std::string& text, std::optional<int> (*parse)(std::string_view) noexcept,
               std::string_view (*name)(int) noexcept, int last, const char* what) {
  if (const auto found = parse(text)) return *found;
  std::vector<std::string_view> known;
  for (int i = 0; i <= last; ++i) {
    if (parse(name(i))) known.push_back(name(i));
  }
  throw UsageError(fmt::format("'{}' is no {}{}", text, what, did_you_mean(text, known)));
}

/// Flags that are not members of Spec.
struct Flags {
  bool json = false;
  bool no_check = false;
};

void add_options(Options& options, Spec& spec, Flags& flags) {
  options.value("ranks,n", "N", "number of ranks", [&](const std::string& text) {
    spec.ranks = uint32_t(parse_count(text, 1, kMostRanks));
  });
  options.value("begin,b", "BYTES", "smallest size (8)",
                [&](const std::string& text) { spec.begin = parse_size(text); });
  options.value("end,e", "BYTES", "largest size, always the last one (64M)",
                [&](const std::string& text) { spec.end = parse_size(text); });
  options.value("factor,f", "F", "from one size to the next (4)",
                [&](const std::string& text) { spec.factor = parse_count(text, 2, 1 << 16); });
  options.value("type,d", "TYPE", "type of the elements (fp32)", [&](const std::string& text) {
    spec.type =
        HcclDataType(parse_word(text, parse_type, type_name, HCCL_DATA_TYPE_FP8E8M0, "data type"));
  });
  options.value("op,o", "OP", "sum, prod, max or min (sum)", [&](const std::string& text) {
    spec.reduce_op =
        HcclReduceOp(parse_word(text, parse_reduce_op, op_name, HCCL_REDUCE_MIN, "reduction"));
  });
  options.value("root", "R", "rank that broadcasts (0)", [&](const std::string& text) {
    spec.root = uint32_t(parse_count(text, 0, kMostRanks - 1));
  });
  options.flag("threads", "ranks are threads of one process, not processes", spec.threads);
  options.value("memory", "KIND", "device (aclrtMalloc) or malloc (device)",
                [&](const std::string& text) {
                  if (text != "device" && text != "malloc") {
                    throw UsageError(fmt::format("'{}' is neither device nor malloc", text));
                  }
                  spec.malloc_memory = text == "malloc";
                });
  options.flag("in-place", "send and receive in one buffer", spec.in_place);
  options.flag("no-check", "do not check the results", flags.no_check);
  options.value(
      "iters", "N", "timed calls of a size, instead of --min-time",
      [&](const std::string& text) { spec.iterations = parse_count(text, 1, uint64_t{1} << 40); });
  options.value("min-time", "S", "seconds of timed calls of a size (0.3), at least 5 batches",
                [&](const std::string& text) { spec.min_time = parse_seconds(text); });
  options.value("timeout", "S", "give up if no size is finished for S seconds (120)",
                [&](const std::string& text) { spec.timeout = parse_seconds(text); });
  options.flag("json", "print one JSON document at the end", flags.json);
}

uint32_t parse_op(const Words& words) {
  if (words.empty()) {
    throw UsageError(fmt::format("which operation? One of {}", fmt::join(operation_names(), ", ")));
  }
  if (words.size() > 1) throw UsageError(fmt::format("'{}' is one word too many", words[1]));
  if (const auto op = parse_operation(words[0])) return *op;
  throw UsageError(
      fmt::format("'{}' is no operation{}", words[0], did_you_mean(words[0], operation_names())));
}

// What does not fit together.
void check_spec(const Options& options, const Spec& spec) {
  const std::string_view op = operation_name(spec.op);
  const auto refuse = [&](bool wrong, const std::string& why) {
    if (wrong) throw UsageError(why);
  };
  const bool barrier = spec.op == WEFT_OP_BARRIER;
  refuse(!options.given("ranks"), "-n is missing: how many ranks?");
  refuse(spec.begin > spec.end, "-b is larger than -e");
  refuse(options.given("op") && !is_reduction(spec.op), fmt::format("{} has no -o", op));
  refuse(is_reduction(spec.op) && !reducible(spec.type),
         fmt::format("{} cannot be reduced", type_name(spec.type)));
  refuse(options.given("root") && spec.op != WEFT_OP_BROADCAST,
         fmt::format("{} has no --root", op));
  refuse(spec.root >= spec.ranks, fmt::format("--root: there is no rank {}", spec.root));
  refuse(spec.in_place && (barrier || spec.op == WEFT_OP_ALL_TO_ALL),
         fmt::format("{} cannot be done in place", op));
  refuse(spec.iterations == 0 && spec.min_time >= spec.timeout,
         "--min-time must be less than --timeout");
  for (const char* name : {"begin", "end", "factor", "type", "memory"}) {
    refuse(barrier && options.given(name), fmt::format("barrier has no --{}", name));
  }
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
      fmt::runtime(spec.op == WEFT_OP_BARRIER ? "{} times a rank left a barrier before another came"
                                              : "{} elements are wrong"),
      report.wrong()));
}

}  // namespace

int bench_command(const Words& words) {
  Spec spec;
  Flags flags;
  Options options(kUsageLine, kAbout);
  add_options(options, spec, flags);
  if (!options.parse(words)) return kOk;
  spec.op = parse_op(options.words());
  spec.check = !flags.no_check;
  check_spec(options, spec);
  const Devices devices = find_devices(spec.ranks);
  spec.devices = uint32_t(devices.visible.size());
  setenv("WEFT_DEVICES", std::to_string(devices.on_host).c_str(), 1);
  return measure(spec, flags.json);
}

}  // namespace weft::tools
