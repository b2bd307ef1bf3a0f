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
#include "support/footprint.hpp"

namespace weft {
namespace {

// P9. The first test: the others load the plugin, too.
TEST(ConformanceOfLoading, ChangesNothing) {
  const char* file = std::getenv("WEFT_TEST_PLUGIN");
  ASSERT_NE(file, nullptr) << "set WEFT_TEST_PLUGIN to the plugin to test";
  const auto before = test::footprint();
  plugin::Registry registry;
  registry.load(file);
  EXPECT_EQ(test::news(before, test::footprint()), "");
}

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

weft_builder refusing_builder() {
  weft_builder builder{WEFT_HEAD(weft_builder), nullptr, nullptr, nullptr};
  builder.append = [](void*, const weft_step*) -> int32_t { return WEFT_E_PARA; };
  builder.reserve = [](void*, uint32_t) -> int32_t { return WEFT_E_PARA; };
  return builder;
}

TEST_F(Conformance, EmittingStopsWhenTheBuilderRefuses) {
  const weft_builder builder = refusing_builder();
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

// P6: what the library gives may be of another major, or shorter than the plugin needs.
TEST_F(Conformance, ItDoesNotEmitForABuilderOrProblemThatItCannotRead) {
  for (const plugin::Algorithm& each : registry_.algorithms()) {
    const std::vector<int64_t> params = defaults(each);
    const auto emit = [&](const weft_head& problem_head, const weft_head& builder_head) {
      weft_problem problem{WEFT_HEAD(weft_problem),
                           each.table.op,
                           each.table.min_ranks,
                           0,
                           0,
                           static_cast<uint32_t>(params.size()),
                           0,
                           params.data()};
      problem.head = problem_head;
      weft_builder builder = refusing_builder();
      builder.head = builder_head;
      return each.table.emit(&problem, &builder);
    };
    const weft_head problem = WEFT_HEAD(weft_problem);
    const weft_head builder = WEFT_HEAD(weft_builder);
    const weft_head short_one = WEFT_HEAD(weft_head);
    weft_head other = builder;
    other.major = WEFT_ABI_MAJOR + 1;
    EXPECT_EQ(emit(problem, other), WEFT_E_NOT_SUPPORT) << each.name;
    EXPECT_EQ(emit(problem, short_one), WEFT_E_NOT_SUPPORT) << each.name;
    EXPECT_EQ(emit(other, builder), WEFT_E_NOT_SUPPORT) << each.name;
    EXPECT_EQ(emit(short_one, builder), WEFT_E_NOT_SUPPORT) << each.name;
  }
}

TEST_F(Conformance, ItDoesNotOpenForAHostThatItCannotRead) {
  weft_host other = plugin::host();
  other.head.major = WEFT_ABI_MAJOR + 1;
  weft_host short_one = plugin::host();
  short_one.head.size = sizeof(weft_head);
  const std::string& name = registry_.plugins().front().name;
  for (const weft_host* host : {&other, &short_one}) {
    void* context = nullptr;
    if (const plugin::Transport* transport = registry_.find_transport(name)) {
      EXPECT_EQ(transport->table.open(host, &context), WEFT_E_NOT_SUPPORT);
    }
    if (const plugin::Memory* memory = registry_.find_memory(name)) {
      EXPECT_EQ(memory->table.open(host, &context), WEFT_E_NOT_SUPPORT);
    }
  }
}

TEST_F(Conformance, AMemoryPluginDoesNotAttachToAGroupThatItCannotRead) {
  const plugin::Memory* memory = registry_.find_memory(registry_.plugins().front().name);
  if (memory == nullptr) return;  // it is of another kind
  void* context = nullptr;
  ASSERT_EQ(memory->table.open(&plugin::host(), &context), WEFT_OK);
  weft_group group{};
  for (const weft_head head : {weft_head{sizeof group, WEFT_ABI_MAJOR + 1, 0},
                               weft_head{sizeof(weft_head), WEFT_ABI_MAJOR, 0}}) {
    group.head = head;
    void* member = nullptr;
    EXPECT_EQ(memory->table.attach(context, &group, &member), WEFT_E_NOT_SUPPORT);
  }
}

}  // namespace
}  // namespace weft
