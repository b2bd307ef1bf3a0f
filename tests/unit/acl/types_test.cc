// SPDX-License-Identifier: Apache-2.0
// Data types: sizes and half precision, with the interface's own rules.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "acl/acl.h"
#include "support.hpp"

namespace {

TEST(Types, HaveTheDocumentedSizes) {
  EXPECT_EQ(aclDataTypeSize(ACL_DT_UNDEFINED), 0U);
  EXPECT_EQ(aclDataTypeSize(ACL_STRING), 0U);
  EXPECT_EQ(aclDataTypeSize(ACL_INT4), 1U);
  EXPECT_EQ(aclDataTypeSize(ACL_UINT8), 1U);
  EXPECT_EQ(aclDataTypeSize(ACL_FLOAT8_E8M0), 1U);
  EXPECT_EQ(aclDataTypeSize(ACL_BF16), 2U);
  EXPECT_EQ(aclDataTypeSize(ACL_FLOAT), 4U);
  EXPECT_EQ(aclDataTypeSize(ACL_COMPLEX32), 4U);
  EXPECT_EQ(aclDataTypeSize(ACL_DOUBLE), 8U);
  EXPECT_EQ(aclDataTypeSize(ACL_COMPLEX128), 16U);
  EXPECT_EQ(aclDataTypeSize(ACL_FLOAT4_E2M1), 8U);
  EXPECT_EQ(aclDataTypeSize(weft::test::enum_value<aclDataType>(1234)), 8U);
}

TEST(HalfPrecision, DecodesExponent31LikeAnyOther) {
  EXPECT_EQ(aclFloat16ToFloat(0x7C00), 65536.0F);
  EXPECT_EQ(aclFloat16ToFloat(0xFC00), -65536.0F);
  EXPECT_EQ(aclFloat16ToFloat(0x7E00), 98304.0F);
}

TEST(HalfPrecision, Saturates) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(aclFloatToFloat16(infinity), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(-infinity), 0xFBFF);
  EXPECT_EQ(aclFloatToFloat16(std::nanf("")), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(65536.0F), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(-1e30F), 0xFBFF);
  EXPECT_EQ(aclFloatToFloat16(65519.0F), 0x7BFF);
}

TEST(HalfPrecision, EveryFiniteValueSurvivesTheRoundTrip) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    if ((bits >> 10 & 31) == 31) continue;
    const auto half = static_cast<aclFloat16>(bits);
    ASSERT_EQ(aclFloatToFloat16(aclFloat16ToFloat(half)), half) << bits;
  }
}

TEST(HalfPrecision, RoundsToNearestEven) {
  EXPECT_EQ(aclFloatToFloat16(1.0F + 0x1p-11F), 0x3C00);    // tie
  EXPECT_EQ(aclFloatToFloat16(1.0F + 0x1.8p-10F), 0x3C02);  // tie
  EXPECT_EQ(aclFloatToFloat16(1.0F + 0x1.2p-11F), 0x3C01);
  EXPECT_EQ(aclFloatToFloat16(0x1p-25F), 0);  // tie between 0 and the least
  EXPECT_EQ(aclFloatToFloat16(0x1.2p-25F), 1);
  EXPECT_EQ(aclFloatToFloat16(-0x1p-40F), 0x8000);
}

}  // namespace
