// SPDX-License-Identifier: Apache-2.0
#include "proof/prove.hpp"

#include <algorithm>
#include <numeric>

#include "base/op_names.hpp"
#include "schedule/builder.hpp"

namespace weft::proof {
namespace {

constexpr uint32_t kEveryRoot = 17;
constexpr uint32_t kEveryParam = 32;

std::vector<uint32_t> roots(uint32_t op, uint32_t ranks) {
  if (!has_root(op)) return {0};
  if (ranks > kEveryParam) return {ranks - 1};
  if (ranks > kEveryRoot) return {0, ranks / 2, ranks - 1};
  std::vector<uint32_t> all(ranks);
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

/// The defaults, then each parameter at other values with the others at their defaults.
std::vector<std::vector<int64_t>> values(const plugin::Algorithm& algorithm, uint32_t ranks,
                                         const Fixed& fixed) {
  const auto given = [&](size_t i) { return i < fixed.size() ? fixed[i] : std::nullopt; };
  std::vector<int64_t> defaults;
  for (const plugin::Param& param : algorithm.params) {
    defaults.push_back(given(defaults.size()).value_or(param.def));
  }
  std::vector<std::vector<int64_t>> sets = {defaults};
  for (size_t i = 0; i < defaults.size() && ranks <= kEveryParam; ++i) {
    if (given(i)) continue;
    const plugin::Param& param = algorithm.params[i];
    for (const int64_t value : {param.min, param.min < param.max ? param.min + 1 : param.max,
                                std::midpoint(param.min, param.max), param.max}) {
      std::vector<int64_t> set = defaults;
      set[i] = value;
      if (std::find(sets.begin(), sets.end(), set) == sets.end()) sets.push_back(set);
    }
  }
  return sets;
}

}  // namespace

bool serves(const plugin::Algorithm& algorithm, uint32_t ranks) {
  const weft_algorithm& table = algorithm.table;
  return ranks >= table.min_ranks && (table.max_ranks == 0 || ranks <= table.max_ranks);
}

std::vector<Case> cases(const plugin::Algorithm& algorithm, uint32_t ranks, const Fixed& fixed) {
  std::vector<Case> all;
  const std::vector<std::vector<int64_t>> sets = values(algorithm, ranks, fixed);
  for (const uint32_t root : roots(algorithm.table.op, ranks)) {
    for (const std::vector<int64_t>& params : sets) all.push_back({ranks, root, params});
  }
  return all;
}

std::vector<schedule::Schedule> emit(const plugin::Algorithm& algorithm, const Case& of) {
  std::vector<schedule::Schedule> all;
  for (uint32_t r = 0; r < of.ranks; ++r) {
    const schedule::Shape shape{algorithm.table.op, of.ranks, r, of.root};
    all.push_back(schedule::emit(algorithm.table, algorithm.name.c_str(), shape, of.params));
  }
  return all;
}

std::optional<CounterExample> refute(const plugin::Algorithm& algorithm, const Case& of) {
  const schedule::Shape shape{algorithm.table.op, of.ranks, 0, of.root};
  schedule::Options options;
  CounterExample found{of, options.calls, {}, {}};
  found.report = schedule::check(algorithm.table, algorithm.name.c_str(), shape, of.params, options,
                                 &found.schedules);
  if (found.report.ok()) return std::nullopt;
  const bool has_run =
      found.schedules.size() == of.ranks && found.report.fault != schedule::Fault::kImpure;
  if (!has_run) {
    found.calls = 1;
    return found;
  }
  options.placements = {found.report.evidence.placement};
  for (uint32_t calls = 1; calls < found.calls; ++calls) {
    options.calls = calls;
    schedule::Report fewer = schedule::check(found.schedules, algorithm.table.flags, options);
    if (fewer.ok()) continue;
    found.calls = calls;
    found.report = std::move(fewer);
  }
  return found;
}

Verdict prove(const plugin::Algorithm& algorithm, uint32_t ranks, const Fixed& fixed,
              const std::function<bool()>& stop) {
  Verdict verdict;
  for (const Case& each : cases(algorithm, ranks, fixed)) {
    if (stop && stop()) return verdict;
    verdict.wrong = refute(algorithm, each);
    if (verdict.wrong) break;
    ++verdict.cases;
  }
  verdict.complete = true;
  return verdict;
}

std::optional<CounterExample> smallest(const plugin::Algorithm& algorithm,
                                       std::span<const uint32_t> ranks, const Fixed& fixed) {
  for (const uint32_t n : ranks) {
    if (!serves(algorithm, n)) continue;
    Verdict verdict = prove(algorithm, n, fixed);
    if (verdict.wrong) return std::move(verdict.wrong);
  }
  return std::nullopt;
}

}  // namespace weft::proof
