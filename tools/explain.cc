// SPDX-License-Identifier: Apache-2.0
// `weft explain`: tells what a call would do, or carries one out and tells what it did.
#include <fmt/format.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/names.hpp"
#include "bench/call_options.hpp"
#include "bench/rows.hpp"
#include "bench/spec.hpp"
#include "bench/supervisor.hpp"
#include "bench/words.hpp"
#include "command.hpp"
#include "explain/plan.hpp"
#include "options.hpp"

namespace weft::tools {
namespace {

constexpr const char* kUsageLine =
    "weft explain --op OPERATION -n N [options]\n       weft explain OPERATION -n N [options]";
constexpr const char* kAbout =
    R"(With --op, tells what a call of OPERATION on N ranks would do, without ranks or a device: which
algorithm the policy chooses and by which rule, its parameters, steps and rounds (the longest chain of
signals), the bytes that move between ranks, and for every other algorithm why it was not chosen.

Without, carries out one call on N ranks of this machine, checks the result, and tells which
algorithm did it, what chose that, and by which way the input and the output of each rank went:

  window   a symmetric window of the communicator
  range    active memory of a zero-copy range
  heap     memory of aclrtMalloc, which all ranks map
  local    any memory: the ranks are threads of one process
  own      any memory: no other rank touches this buffer
  staged   copied through memory that all ranks map

Behind a way that is not the first in the order of the policy stands why it was taken. The same is
written for every call of any program with WEFT_TRACE=FILE or WEFT_TRACE=stderr.

Exit code: 0 if all is right, 1 if something is wrong or failed, 2 for a wrong command line.)";

/// One line for every rank, in their order.
class Explanation final : public Rows {
 public:
  explicit Explanation(const Spec& spec) : spec_(spec), rows_(spec.ranks) {}

  void add(const Row& row) override {
    rows_[row.rank] = row;
    wrong_ += row.wrong;
  }
  void print() const;
  [[nodiscard]] uint64_t wrong() const { return wrong_; }

 private:
  const Spec& spec_;
  std::vector<Row> rows_;
  uint64_t wrong_ = 0;
};

std::string way(uint32_t way, const char* why) {
  return *why == '\0' ? weft_way_name(way) : fmt::format("{} ({})", weft_way_name(way), why);
}

void Explanation::print() const {
  const Row& first = rows_.front();
  fmt::print("{} of {} bytes, {} {}, {} memory{}\n", facts(spec_.op).name, first.shape.bytes,
             spec_.ranks, spec_.threads ? "threads" : "processes",
             kMemoryNames[size_t(spec_.memory)], spec_.in_place ? ", in place" : "");
  fmt::print("  {} chosen by {}, pieces: {}\n", first.call.algorithm, first.call.source,
             first.call.pieces);
  for (const Row& row : rows_) {
    fmt::print("  rank {}  in: {}, out: {}\n", row.rank, way(row.call.in_way, row.call.in_why),
               way(row.call.out_way, row.call.out_why));
  }
}

void add_options(Options& options, Spec& spec, PlannedCall& planned) {
  options.value("op", "OPERATION", "tell what a call of this would do",
                [&](const std::string& text) { planned.op = text; });
  add_ranks_option(options, spec, 1, kMostPlannedRanks);
  add_bytes_option(options, spec);
  add_type_option(options, spec);
  add_reduction_option(options, spec, "reduction,o");
  add_root_option(options, spec, kMostPlannedRanks);
  options.value("policy", "FILE", "with --op: a policy (the one that a program would read)",
                [&](const std::string& text) { planned.policy = text; });
  options.value("hosts", "H", "with --op: number of hosts (1)", [&](const std::string& text) {
    planned.hosts = uint32_t(parse_count(text, 1, kMostPlannedRanks));
  });
  options.value("name", "NAME", "with --op: name of the communicator",
                [&](const std::string& text) { planned.name = text; });
  options.value("hccl-algo", "TEXT", "with --op: hcclAlgo of the communicator's configuration",
                [&](const std::string& text) { planned.hccl_algo = text; });
  options.flag("deterministic", "with --op: a deterministic result is asked for",
               planned.deterministic);
  options.flag("steps", "with --op: list the steps of a rank", planned.steps);
  options.value("rank", "R", "with --steps: of this rank (0)", [&](const std::string& text) {
    planned.of_rank = uint32_t(parse_count(text, 0, kMostPlannedRanks - 1));
  });
  add_threads_option(options, spec);
  add_memory_option(options, spec);
  add_in_place_option(options, spec);
}

void check_ranks(const Options& options) {
  if (!options.given("ranks")) throw UsageError("-n is missing: how many ranks?");
}

int tell_plan(const Options& options, const Spec& spec, PlannedCall call) {
  for (const char* name : {"threads", "memory", "in-place"}) {
    refuse(options.given(name), fmt::format("--{} is for a call that is carried out", name));
  }
  refuse(!options.words().empty(), "with --op no other word: a reduction is -o");
  refuse(options.given("rank") && !call.steps, "--rank is for --steps");
  check_ranks(options);
  call.bytes = spec.end;
  call.ranks = spec.ranks;
  call.type = spec.type;
  call.reduce_op = spec.reduce_op;
  call.reduction_given = options.given("reduction");
  call.root = spec.root;
  call.root_given = options.given("root");
  refuse(call.op == "barrier" && (options.given("bytes") || options.given("type")),
         "barrier has no data");
  explain_plan(call);
  return kOk;
}

void check(const Options& options, const Spec& spec) {
  for (const char* name :
       {"policy", "hosts", "name", "hccl-algo", "deterministic", "steps", "rank"}) {
    refuse(options.given(name), fmt::format("--{} is for --op", name));
  }
  check_ranks(options);
  refuse(spec.ranks > kMostRanks, fmt::format("-n: at most {} ranks can be run", kMostRanks));
  refuse(spec.root >= spec.ranks, fmt::format("--root: there is no rank {}", spec.root));
  refuse(options.given("reduction") && !facts(spec.op).reduces(),
         fmt::format("{} has no -o", facts(spec.op).name));
  check_operator(options, spec, {"bytes", "type", "memory"});
}

}  // namespace

int explain_command(const Words& words) {
  Spec spec;
  spec.explain = true;
  spec.begin = spec.end = uint64_t{1} << 20;
  PlannedCall planned;
  Options options(kUsageLine, kAbout);
  add_options(options, spec, planned);
  if (!options.parse(words)) return kOk;
  if (options.given("op")) return tell_plan(options, spec, std::move(planned));
  spec.op = parse_operator(options.words(), "");
  check(options, spec);
  take_devices(spec);
  Explanation explanation(spec);
  if (const int code = supervise(spec, explanation); code != 0) return code;
  explanation.print();
  if (explanation.wrong() == 0) return kOk;
  throw Failure(fmt::format("{} elements are wrong", explanation.wrong()));
}

}  // namespace weft::tools
