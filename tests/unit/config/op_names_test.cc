// SPDX-License-Identifier: Apache-2.0
#include "base/op_names.hpp"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(OperationNames, EveryOperationHasOneNameThatIsReadBack) {
  ASSERT_EQ(operation_names().size(), WEFT_OP_COUNT - 1);
  for (uint32_t op = 1; op < WEFT_OP_COUNT; ++op) {
    EXPECT_EQ(parse_operation(operation_name(op)), op);
    EXPECT_EQ(operation_names()[op - 1], operation_name(op));
  }
}

TEST(OperationNames, OtherNumbersAndWordsAreNone) {
  EXPECT_EQ(operation_name(0), "unknown");
  EXPECT_EQ(operation_name(WEFT_OP_COUNT), "unknown");
  for (const char* wrong : {"", "unknown", "allreduce", "All_Reduce", "all_reduce "}) {
    EXPECT_EQ(parse_operation(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace weft
