// SPDX-License-Identifier: Apache-2.0
// The rules of a policy: what they match, whether each can be reached, and whether its algorithm
// can serve. No file format here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/complain.hpp"
#include "config/policy.hpp"
#include "config/units.hpp"

namespace weft::config {

inline constexpr uint32_t kAny = ~0U;

struct RuleParam {
  std::string name;
  int64_t value = 0;
  Place place;
};

struct Rule {
  Place place;  // of [[rule]]
  uint32_t op = 0;
  Range bytes;
  Range ranks = kAnyRanks;
  uint32_t types = kAny;          // bit by HcclDataType
  uint32_t reduce_ops = kAny;     // bit by HcclReduceOp
  uint32_t deterministic = kAny;  // bit 0: not asked for, bit 1: asked for
  std::string use;                // "plugin.algorithm"
  Place use_place;
  std::vector<RuleParam> params;

  // Set by resolve.
  const plugin::Algorithm* algorithm = nullptr;
  std::vector<int64_t> values;  // in declared order
};

[[nodiscard]] bool is_catch_all(const Rule& rule);
[[nodiscard]] bool matches(const Rule& rule, const Query& query);
/// Every query that matches `later` matches `earlier` too.
[[nodiscard]] bool covers(const Rule& earlier, const Rule& later);

/// Throws Error for an operation without a catch-all and for a rule that is never reached.
void check_complete(std::span<const Rule> rules, const std::string& file);

/// Finds the algorithm and orders the parameters; see Policy::resolve.
void resolve(Rule& rule, const plugin::Registry& registry, const std::string& file);

/// Of the parameters, in declared order.
[[nodiscard]] std::vector<int64_t> default_values(const plugin::Algorithm& algorithm);

/// Why an algorithm cannot serve a query of its operation; empty if it can.
[[nodiscard]] std::string why_not(const plugin::Algorithm& algorithm, const Query& query);

/// The meaning of the rules as text: equal for two lists that always choose alike for the same
/// reasons, apart from places. Rules of different operations do not depend on each other's order.
[[nodiscard]] std::string canonical_text(std::span<const Rule> rules);

}  // namespace weft::config
