// SPDX-License-Identifier: Apache-2.0
// Exceptions of an algorithm stay on its side (P8), or at least never get past the core.
#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "plugin/registry.hpp"
#include "schedule/builder.hpp"

namespace weft::plugin {
namespace {

class Emit : public testing::Test {
 protected:
  Emit() { registry_.load(std::string(WEFT_TEST_PLUGINS) + "/thrower.so"); }

  const weft_algorithm& table(const std::string& name) const {
    return registry_.find_algorithm("thrower." + name)->table;
  }

  Registry registry_;
};

int32_t append_nothing(void*, const weft_step*) { return WEFT_OK; }
int32_t reserve_nothing(void*, uint32_t) { return WEFT_OK; }

TEST_F(Emit, OfTheSdkTurnsExceptionsIntoCodes) {
  weft_problem problem{};
  problem.head = WEFT_HEAD(weft_problem);
  const weft_builder builder{WEFT_HEAD(weft_builder), nullptr, &append_nothing, &reserve_nothing};
  EXPECT_EQ(table("error").emit(&problem, &builder), WEFT_E_INTERNAL);
  EXPECT_EQ(table("memory").emit(&problem, &builder), WEFT_E_MEMORY);
  EXPECT_EQ(table("number").emit(&problem, &builder), WEFT_E_INTERNAL);
}

TEST_F(Emit, OfTheSdkChecksTheBuilder) {
  weft_problem problem{};
  weft_builder other{WEFT_HEAD(weft_builder), nullptr, &append_nothing, &reserve_nothing};
  other.head.major = WEFT_ABI_MAJOR + 1;
  EXPECT_EQ(table("error").emit(&problem, &other), WEFT_E_NOT_SUPPORT);
  other = {WEFT_HEAD(weft_builder), nullptr, &append_nothing, &reserve_nothing};
  other.head.size = offsetof(weft_builder, append);
  EXPECT_EQ(table("error").emit(&problem, &other), WEFT_E_NOT_SUPPORT);
}

TEST_F(Emit, ThatThrowsAcrossTheBoundaryIsAnErrorOfTheCore) {
  const schedule::Shape shape{WEFT_OP_ALL_REDUCE, 2, 0, 0};
  for (const char* name : {"error", "raw"}) {
    const std::string full_name = std::string("thrower.") + name;
    try {
      (void)schedule::emit(table(name), full_name.c_str(), shape, {});
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(full_name), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace weft::plugin
