// SPDX-License-Identifier: Apache-2.0
// What any plugin must do. WEFT_TEST_PLUGIN names the file. Whether an algorithm is right is for
// the checker; this is about the contract.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "plugin/registry.hpp"
#include "schedule/builder.hpp"
#include "schedule/check.hpp"

namespace weft {
namespace {

class Conformance : public testing::Test {
 protected:
  void SetUp() override {
    const char* file = std::getenv("WEFT_TEST_PLUGIN");
    ASSERT_NE(file, nullptr) << "set WEFT_TEST_PLUGIN to the plugin to test";
    registry_.load(file);
    ASSERT_EQ(registry_.plugins().size(), 1U);
    ASSERT_EQ(registry_.plugins().front().refusal, "");
  }

  plugin::Registry registry_;
};

TEST_F(Conformance, ThePluginSaysWhatItIs) {
  const plugin::Plugin& plugin = registry_.plugins().front();
  EXPECT_NE(plugin.version, "");
  EXPECT_NE(plugin.summary, "");
  EXPECT_FALSE(plugin.offers.empty());
  for (const plugin::Algorithm& each : registry_.algorithms()) EXPECT_NE(each.summary, "");
}

std::vector<int64_t> defaults(const plugin::Algorithm& algorithm) {
  std::vector<int64_t> values;
  for (const plugin::Param& each : algorithm.params) values.push_back(each.def);
  return values;
}

bool same(const schedule::Schedule& a, const schedule::Schedule& b) {
  const auto equal = [](const auto& x, const auto& y) {
    return x.size() == y.size() &&
           (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(x[0])) == 0);
  };
  return equal(a.steps, b.steps) && equal(a.operands, b.operands);
}

TEST_F(Conformance, EveryAlgorithmEmitsTheSameScheduleAgain) {
  for (const plugin::Algorithm& each : registry_.algorithms()) {
    const uint32_t most = each.table.max_ranks == 0 ? UINT32_MAX : each.table.max_ranks;
    const uint32_t last = std::min(most, each.table.min_ranks + 7);
    for (uint32_t ranks = each.table.min_ranks; ranks <= last; ++ranks) {
      for (uint32_t rank = 0; rank < ranks; ++rank) {
        const schedule::Shape shape{each.table.op, ranks, rank, 0};
        const auto first = schedule::emit(each.table, each.name.c_str(), shape, defaults(each));
        const auto again = schedule::emit(each.table, each.name.c_str(), shape, defaults(each));
        EXPECT_TRUE(same(first, again)) << each.name << " rank " << rank << " of " << ranks;
        EXPECT_FALSE(first.steps.empty()) << each.name;
      }
    }
  }
}

TEST_F(Conformance, EveryAlgorithmIsProvedRight) {
  for (const plugin::Algorithm& each : registry_.algorithms()) {
    const uint32_t most = each.table.max_ranks == 0 ? UINT32_MAX : each.table.max_ranks;
    const uint32_t last = std::min(most, each.table.min_ranks + 3);
    for (uint32_t ranks = each.table.min_ranks; ranks <= last; ++ranks) {
      const schedule::Shape shape{each.table.op, ranks, 0, 0};
      const auto report = schedule::check(each.table, each.name.c_str(), shape, defaults(each));
      EXPECT_TRUE(report.ok()) << report.text;
    }
  }
}

TEST_F(Conformance, EmittingStopsWhenTheBuilderRefuses) {
  weft_builder builder{WEFT_HEAD(weft_builder), nullptr, nullptr, nullptr};
  builder.append = [](void*, const weft_step*) -> int32_t { return WEFT_E_PARA; };
  builder.reserve = [](void*, uint32_t) -> int32_t { return WEFT_E_PARA; };
  for (const plugin::Algorithm& each : registry_.algorithms()) {
    const std::vector<int64_t> params = defaults(each);
    const weft_problem problem{WEFT_HEAD(weft_problem),
                               each.table.op,
                               each.table.min_ranks,
                               0,
                               0,
                               static_cast<uint32_t>(params.size()),
                               0,
                               params.data()};
    EXPECT_EQ(each.table.emit(&problem, &builder), WEFT_E_PARA) << each.name;
  }
}

}  // namespace
}  // namespace weft
