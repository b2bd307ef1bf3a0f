// SPDX-License-Identifier: Apache-2.0
#include "config/cells.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "base/names.hpp"
#include "base/op_names.hpp"
#include "plugin/registry.hpp"

namespace weft::config {
namespace {

/// Cuts a range in pieces.
class Cuts {
 public:
  explicit Cuts(const Range& all) : all_(all), firsts_{all.first} {}

  void add(const Range& range) {
    cut_at(range.first);
    if (range.last < all_.last) cut_at(range.last + 1);
  }

  [[nodiscard]] std::vector<Range> pieces() const {
    std::vector<Range> pieces;
    for (const uint64_t first : firsts_) {
      if (!pieces.empty()) pieces.back().last = first - 1;
      pieces.push_back({first, all_.last});
    }
    return pieces;
  }

 private:
  void cut_at(uint64_t first) {
    if (all_.contains(first)) firsts_.insert(first);
  }

  const Range all_;
  std::set<uint64_t> firsts_;
};

/// Cuts a set of bits in sets that no mask divides.
void divide(std::vector<uint32_t>& sets, uint32_t mask) {
  std::vector<uint32_t> divided;
  for (const uint32_t set : sets) {
    for (const uint32_t part : {set & mask, set & ~mask}) {
      if (part != 0) divided.push_back(part);
    }
  }
  std::sort(divided.begin(), divided.end(),
            [](uint32_t a, uint32_t b) { return std::countr_zero(a) < std::countr_zero(b); });
  sets = std::move(divided);
}

uint32_t types_of(uint32_t op) {
  if (op == WEFT_OP_BARRIER) return kAny;
  uint32_t types = 0;
  for (int type = 0; type < 32; ++type) {
    if (type_size(type) != 0 && (!is_reduction(op) || reducible(type))) types |= 1U << type;
  }
  return types;
}

/// Some numbers of these ranges belong to one call.
bool possible(const Range& ranks, const Range& hosts, const Range& per_host) {
  // Beyond so many hosts nothing changes that a policy could be about.
  constexpr uint64_t kMost = 4096;
  const uint64_t last = std::min({hosts.last, ranks.last, hosts.first + kMost});
  for (uint64_t count = hosts.first; count <= last; ++count) {
    if (per_host.first == 0 && count > 1 && ranks.last > count) return true;
    const uint64_t least =
        std::max<uint64_t>({1, per_host.first, (ranks.first + count - 1) / count});
    if (least <= std::min(per_host.last, ranks.last / count)) return true;
  }
  return false;
}

}  // namespace

Cells::Cells(uint32_t op, std::initializer_list<const Policy*> policies) : op_(op) {
  constexpr uint32_t kReduceOps = 0xf;
  Cuts bytes{Range{}};
  Cuts ranks{kAnyRanks};
  Cuts hosts{kAnyHosts};
  Cuts per_host{kAnyPerHost};
  types_ = {types_of(op)};
  reduce_ops_ = {is_reduction(op) ? kReduceOps : kAny};
  deterministic_ = is_reduction(op) ? std::vector<uint32_t>{1, 2} : std::vector<uint32_t>{kAny};
  for (const Policy* policy : policies) {
    for (const Rule& rule : policy->rules()) {
      if (rule.op != op) continue;
      bytes.add(rule.bytes);
      ranks.add(rule.ranks);
      hosts.add(rule.hosts);
      per_host.add(rule.ranks_per_host);
      divide(types_, rule.types);
      divide(reduce_ops_, rule.reduce_ops);
      if (rule.algorithm == nullptr) continue;
      const weft_algorithm& table = rule.algorithm->table;
      ranks.add({table.min_ranks, table.max_ranks == 0 ? kAnyRanks.last : table.max_ranks});
    }
  }
  bytes_ = bytes.pieces();
  ranks_ = ranks.pieces();
  hosts_ = hosts.pieces();
  ranks_per_host_ = per_host.pieces();
  add_names(policies);
}

/// Names are divided by the longest pattern that they fit.
void Cells::add_names(const std::vector<const Policy*>& policies) {
  // No name has it, so what ends with it fits no pattern but those that it was made of.
  const std::string other = "\x01";
  std::set<std::string> patterns;
  for (const Policy* policy : policies) {
    for (const Rule& rule : policy->rules()) {
      if (rule.op == op_) patterns.insert(rule.communicators.begin(), rule.communicators.end());
    }
  }
  names_.push_back({"", other});
  for (const std::string& each : patterns) {
    const bool open = each.ends_with('*');
    names_.push_back({each, open ? each.substr(0, each.size() - 1) + other : each});
  }
}

void Cells::visit(const std::function<void(const Cell&)>& each) const {
  Cell cell;
  cell.query.op = op_;
  Conditions& calls = cell.calls;
  const auto over = [](const auto& pieces, auto& piece, const auto& inner) {
    for (const auto& one : pieces) {
      piece = one;
      inner();
    }
  };
  const auto tell = [&] {
    cell.query.bytes = calls.bytes.first;
    cell.query.ranks = static_cast<uint32_t>(calls.ranks.first);
    cell.query.hosts = static_cast<uint32_t>(calls.hosts.first);
    cell.query.ranks_per_host = static_cast<uint32_t>(calls.ranks_per_host.first);
    cell.query.type = std::countr_zero(calls.types);
    cell.query.reduce_op = is_reduction(op_) ? std::countr_zero(calls.reduce_ops) : -1;
    cell.query.deterministic = calls.deterministic == 2;
    each(cell);
  };
  const auto all_bytes = [&] { over(bytes_, calls.bytes, tell); };
  const auto all_types = [&] { over(types_, calls.types, all_bytes); };
  const auto all_reductions = [&] { over(reduce_ops_, calls.reduce_ops, all_types); };
  const auto all_answers = [&] { over(deterministic_, calls.deterministic, all_reductions); };
  const auto all_per_host = [&] {
    over(ranks_per_host_, calls.ranks_per_host, [&] {
      cell.possible = possible(calls.ranks, calls.hosts, calls.ranks_per_host);
      all_answers();
    });
  };
  const auto all_ranks = [&] { over(ranks_, calls.ranks, all_per_host); };
  const auto all_hosts = [&] { over(hosts_, calls.hosts, all_ranks); };
  for (const Name& name : names_) {
    cell.name = name.pattern;
    cell.query.communicator = name.example;
    all_hosts();
  }
}

}  // namespace weft::config
