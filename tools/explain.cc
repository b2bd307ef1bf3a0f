// SPDX-License-Identifier: Apache-2.0
// `weft explain`: carries out one call and tells what decided its algorithm, and by which way each
// buffer of each rank went.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "base/names.hpp"
#include "bench/rows.hpp"
#include "bench/spec.hpp"
#include "bench/supervisor.hpp"
#include "bench/words.hpp"
#include "command.hpp"
#include "options.hpp"
#include "run/rank_table.hpp"

namespace weft::tools {
namespace {

constexpr uint64_t kMostRanks = 256;

constexpr const char* kUsageLine = "weft explain OPERATION -n N [options]";
constexpr const char* kAbout =
    R"(Carries out one call of OPERATION on N ranks of this machine, checks the result, and tells which
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

void add_options(Options& options, Spec& spec) {
  options.value("ranks,n", "N", "number of ranks", [&](const std::string& text) {
    spec.ranks = uint32_t(parse_count(text, 1, kMostRanks));
  });
  options.value("bytes,b", "BYTES", "size of the larger buffer (1M)",
                [&](const std::string& text) { spec.begin = spec.end = parse_size(text); });
  options.value("type,d", "TYPE", "type of the elements (fp32)",
                [&](const std::string& text) { spec.type = parse_data_type(text); });
  options.value("op,o", "OP", "sum, prod, max or min (sum)",
                [&](const std::string& text) { spec.reduce_op = parse_reduction(text); });
  options.value("root", "R", "rank that is the root (0)", [&](const std::string& text) {
    spec.root = uint32_t(parse_count(text, 0, kMostRanks - 1));
  });
  options.flag("threads", "ranks are threads of one process, not processes", spec.threads);
  options.value("memory", "KIND", "heap, symwin, zerocopy or malloc (heap)",
                [&](const std::string& text) { spec.memory = parse_memory(text); });
  options.flag("in-place", "send and receive in one buffer", spec.in_place);
}

void check(const Options& options, const Spec& spec) {
  if (!options.given("ranks")) throw UsageError("-n is missing: how many ranks?");
  if (spec.root >= spec.ranks) {
    throw UsageError(fmt::format("--root: there is no rank {}", spec.root));
  }
  check_operator(options, spec, {"bytes", "type", "memory"});
}

}  // namespace

int explain_command(const Words& words) {
  Spec spec;
  spec.explain = true;
  spec.begin = spec.end = uint64_t{1} << 20;
  Options options(kUsageLine, kAbout);
  add_options(options, spec);
  if (!options.parse(words)) return kOk;
  spec.op = parse_operator(options.words(), "");
  check(options, spec);
  const Devices devices = find_devices(spec.ranks);
  spec.devices = uint32_t(devices.visible.size());
  setenv("WEFT_DEVICES", std::to_string(devices.on_host).c_str(), 1);
  Explanation explanation(spec);
  if (const int code = supervise(spec, explanation); code != 0) return code;
  explanation.print();
  if (explanation.wrong() == 0) return kOk;
  throw Failure(fmt::format("{} elements are wrong", explanation.wrong()));
}

}  // namespace weft::tools
