// SPDX-License-Identifier: Apache-2.0
// The rules of a policy: what they match, whether each can be reached, and whether its algorithm
// can serve. No file format here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/complain.hpp"
#include "config/policy.hpp"
#include "config/units.hpp"
#include "plugin/param.hpp"

namespace weft::config {

inline constexpr uint32_t kAny = ~0U;

/// What `when` says: every one of them must hold.
struct Conditions {
  Range bytes;
  Range ranks = kAnyRanks;
  Range hosts = kAnyHosts;
  Range ranks_per_host = kAnyPerHost;
  uint32_t types = kAny;          // bit by HcclDataType
  uint32_t reduce_ops = kAny;     // bit by HcclReduceOp
  uint32_t deterministic = kAny;  // bit 0: not asked for, bit 1: asked for
  /// Names of communicators; one that ends with * stands for all that begin so. Empty: any.
  std::vector<std::string> communicators;
};

struct RuleParam {
  std::string name;
  plugin::Written value;
  Place place;
};

struct Rule : Conditions {
  Place place;  // of [[rule]]
  uint32_t op = 0;
  std::string use;  // "plugin.algorithm"
  Place use_place;
  std::vector<RuleParam> params;

  // Set by resolve.
  const plugin::Algorithm* algorithm = nullptr;
  std::vector<int64_t> values;  // in declared order
};

[[nodiscard]] bool is_catch_all(const Rule& rule);
[[nodiscard]] bool matches(const Rule& rule, const Query& query);
/// The same, looking at nothing but what the query's communicator is.
[[nodiscard]] bool may_match(const Rule& rule, const Query& query);
/// Every query that matches `later` matches `earlier` too.
[[nodiscard]] bool covers(const Rule& earlier, const Rule& later);
/// What matches both of them, of one operation; none if nothing does. Where both name communicators
/// by patterns, the narrower ones.
[[nodiscard]] std::optional<Conditions> common(const Rule& a, const Rule& b);

/// A pattern of Conditions::communicators holds for a name.
[[nodiscard]] bool fits(std::string_view pattern, std::string_view name);

/// Why a condition with this key cannot be put to calls of the operation; empty if it can.
[[nodiscard]] std::string why_meaningless(std::string_view key, uint32_t op);

/// Why a rule of the query's operation does not match it, by its first condition that does not
/// hold: "4MiB bytes are not in ..512"; empty if it matches.
[[nodiscard]] std::string why_unmatched(const Rule& rule, const Query& query);

/// "bytes ..512, ranks 2..8, type fp16 fp32"; "every call" without conditions.
[[nodiscard]] std::string text_of(const Conditions& conditions);

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

/// FNV-1a: tells files apart that differ by mistake, which is all it is for.
[[nodiscard]] std::string digest_of(std::string_view text);

}  // namespace weft::config
