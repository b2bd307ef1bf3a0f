// SPDX-License-Identifier: Apache-2.0
// Algorithms that differ in what they declare, for the policy to choose from. They do nothing.
#include "weft/sdk.hpp"

namespace {

void nothing(const weft::Problem&, weft::Schedule&) {}

template <int N>
void named(const weft::Problem& p, weft::Schedule& s) {
  nothing(p, s);
}

constexpr weft_param kParams[] = {weft::param("pieces", "how many", 2, 1, 8),
                                  weft::param("skew", "how far", 0, -5, 5)};
constexpr const char* kSides[] = {"left", "right"};
constexpr weft_param kTyped[] = {weft::flag("wide", "whether so", false),
                                 weft::choice("side", "which one", 0, kSides)};

// The macro takes the name of a function: a template's instance needs an alias.
constexpr auto& all_reduce = named<0>;
constexpr auto& fast = named<1>;
constexpr auto& pair = named<2>;
constexpr auto& many = named<3>;
constexpr auto& broadcast = named<4>;
constexpr auto& all_gather = named<5>;
constexpr auto& reduce_scatter = named<6>;
constexpr auto& all_to_all = named<7>;
constexpr auto& barrier = named<8>;
constexpr auto& reduce = named<9>;
constexpr auto& scatter = named<10>;
constexpr auto& all_gather_v = named<11>;
constexpr auto& reduce_scatter_v = named<12>;
constexpr auto& all_to_all_v = named<13>;
constexpr auto& again = named<14>;

}  // namespace

WEFT_ALGORITHM(all_reduce, .name = "all_reduce", .summary = "any", .op = WEFT_OP_ALL_REDUCE,
               .flags = WEFT_ALGORITHM_RANK_ORDER, .hccl_algo = "fullmesh");
WEFT_ALGORITHM(fast, .name = "fast", .summary = "not in rank order", .op = WEFT_OP_ALL_REDUCE,
               .hccl_algo = "ring");
WEFT_ALGORITHM(pair, .name = "pair", .summary = "two ranks", .op = WEFT_OP_ALL_REDUCE,
               .flags = WEFT_ALGORITHM_RANK_ORDER, .max_ranks = 2, .params = kParams,
               .hccl_algo = "NHR");
WEFT_ALGORITHM(many, .name = "many", .summary = "at least 8", .op = WEFT_OP_ALL_REDUCE,
               .flags = WEFT_ALGORITHM_RANK_ORDER, .min_ranks = 8, .params = kTyped,
               .hccl_algo = "NHR");
WEFT_ALGORITHM(broadcast, .name = "broadcast", .summary = "any", .op = WEFT_OP_BROADCAST);
WEFT_ALGORITHM(all_gather, .name = "all_gather", .summary = "any", .op = WEFT_OP_ALL_GATHER);
WEFT_ALGORITHM(reduce_scatter, .name = "reduce_scatter", .summary = "not in rank order",
               .op = WEFT_OP_REDUCE_SCATTER);
WEFT_ALGORITHM(all_to_all, .name = "all_to_all", .summary = "any", .op = WEFT_OP_ALL_TO_ALL);
WEFT_ALGORITHM(barrier, .name = "barrier", .summary = "any", .op = WEFT_OP_BARRIER);
WEFT_ALGORITHM(reduce, .name = "reduce", .summary = "any", .op = WEFT_OP_REDUCE);
WEFT_ALGORITHM(scatter, .name = "scatter", .summary = "any", .op = WEFT_OP_SCATTER);
WEFT_ALGORITHM(all_gather_v, .name = "all_gather_v", .summary = "any", .op = WEFT_OP_ALL_GATHER_V);
WEFT_ALGORITHM(reduce_scatter_v, .name = "reduce_scatter_v", .summary = "any",
               .op = WEFT_OP_REDUCE_SCATTER_V);
WEFT_ALGORITHM(all_to_all_v, .name = "all_to_all_v", .summary = "any", .op = WEFT_OP_ALL_TO_ALL_V);
WEFT_ALGORITHM(again, .name = "again", .summary = "any", .op = WEFT_OP_ALL_REDUCE,
               .flags = WEFT_ALGORITHM_RANK_ORDER, .hccl_algo = "fullmesh");

WEFT_PLUGIN("toy", "1.0.0", "for tests", WEFT_USE(all_reduce), WEFT_USE(fast), WEFT_USE(pair),
            WEFT_USE(many), WEFT_USE(broadcast), WEFT_USE(all_gather), WEFT_USE(reduce_scatter),
            WEFT_USE(all_to_all), WEFT_USE(barrier), WEFT_USE(reduce), WEFT_USE(scatter),
            WEFT_USE(all_gather_v), WEFT_USE(reduce_scatter_v), WEFT_USE(all_to_all_v),
            WEFT_USE(again));
