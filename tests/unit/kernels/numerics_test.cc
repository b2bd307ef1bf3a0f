// SPDX-License-Identifier: Apache-2.0
// What the types are, and the rules of arithmetic in examples a reader can check by hand.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cfenv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/kernels.hpp"
#include "reference.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace weft::kernels::test {
namespace {

/// The result of one element of T; computed at many positions, which must agree.
template <class T>
T reduced(int type, int op, const std::vector<T>& values) {
  constexpr size_t kCount = 301;
  std::vector<std::vector<T>> sources;
  std::vector<const void*> srcs;
  for (const T value : values) sources.emplace_back(kCount, value);
  for (const auto& source : sources) srcs.push_back(source.data());
  std::vector<T> sums(kCount);
  void* dst = sums.data();
  reduce(&dst, 1, srcs.data(), srcs.size(), kCount, type, op);
  for (const T sum : sums) EXPECT_EQ(std::memcmp(&sum, &sums[0], sizeof(T)), 0);
  return sums[0];
}

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }
uint64_t bits(double value) { return std::bit_cast<uint64_t>(value); }

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Types, HaveTheSizesOfTheirElements) {
  const std::array<size_t, 20> expected = {1, 2, 4,  2, 4, 8, 8, 1, 2, 4,
                                           8, 2, 16, 0, 1, 1, 1, 1, 0, 0};
  for (int type = 0; type < 20; ++type) EXPECT_EQ(type_size(type), expected[type]) << type;
  EXPECT_EQ(type_size(-1), 0u);
}

TEST(Types, CanBeReducedUpToBfp16AndBeMovedBeyond) {
  for (int type = -1; type < 20; ++type) {
    for (int op = -1; op < 6; ++op) {
      EXPECT_EQ(supported(type, op), type >= 0 && type <= kBfp16 && op >= 0 && op <= kMin)
          << type << " " << op;
    }
  }
}

TEST(Numerics, IntegersWrap) {
  EXPECT_EQ(reduced<int8_t>(kInt8, kSum, {127, 1}), -128);
  EXPECT_EQ(reduced<int8_t>(kInt8, kProd, {-128, -1}), -128);
  EXPECT_EQ(reduced<uint8_t>(kUint8, kProd, {200, 200}), 64);
  EXPECT_EQ(reduced<int16_t>(kInt16, kSum, {-32768, -1}), 32767);
  EXPECT_EQ(reduced<int32_t>(kInt32, kProd, {0x10001, 0x10001}), 0x20001);
  EXPECT_EQ(reduced<uint64_t>(kUint64, kProd, {0x100000001, 0x100000003}), 0x400000003u);
  EXPECT_EQ(reduced<int64_t>(kInt64, kSum, {std::numeric_limits<int64_t>::max(), 1}),
            std::numeric_limits<int64_t>::min());
}

TEST(Numerics, IntegersCompareBySign) {
  EXPECT_EQ(reduced<int8_t>(kInt8, kMax, {-1, 1}), 1);
  EXPECT_EQ(reduced<uint8_t>(kUint8, kMax, {255, 1}), 255);
  EXPECT_EQ(reduced<int64_t>(kInt64, kMin, {-1, 1}), -1);
  EXPECT_EQ(reduced<uint64_t>(kUint64, kMin, {~uint64_t{0}, 1}), 1u);
}

TEST(Numerics, FloatsAreAddedInTheOrderOfTheSources) {
  EXPECT_EQ(reduced<float>(kFp32, kSum, {1e8f, 1.f, -1e8f}), 0.f);
  EXPECT_EQ(reduced<float>(kFp32, kSum, {1e8f, -1e8f, 1.f}), 1.f);
}

TEST(Numerics, MinusZeroIsLessThanZero) {
  EXPECT_EQ(bits(reduced<float>(kFp32, kMax, {-0.f, 0.f})), 0u);
  EXPECT_EQ(bits(reduced<float>(kFp32, kMax, {0.f, -0.f})), 0u);
  EXPECT_EQ(bits(reduced<float>(kFp32, kMin, {0.f, -0.f})), 0x80000000u);
  EXPECT_EQ(bits(reduced<float>(kFp32, kMin, {-0.f, 0.f})), 0x80000000u);
  EXPECT_EQ(bits(reduced<double>(kFp64, kMax, {-0., 0.})), 0u);
  EXPECT_EQ(bits(reduced<double>(kFp64, kMin, {0., -0.})), uint64_t{1} << 63);
  EXPECT_EQ(reduced<uint16_t>(kFp16, kMax, {0x8000, 0}), 0);
  EXPECT_EQ(reduced<uint16_t>(kBfp16, kMin, {0, 0x8000}), 0x8000);
}

TEST(Numerics, EveryNanIsTheOneQuietNan) {
  const float payload = std::bit_cast<float>(0xFF812345u);  // signalling and negative
  for (const int op : kOps) {
    EXPECT_EQ(bits(reduced<float>(kFp32, op, {1.f, payload, kInf})), bits(kNan)) << op;
    EXPECT_EQ(bits(reduced<float>(kFp32, op, {payload, 1.f})), bits(kNan)) << op;
    EXPECT_EQ(reduced<uint16_t>(kFp16, op, {0xFC01, 0x3C00}), 0x7E00) << op;
    EXPECT_EQ(reduced<uint16_t>(kBfp16, op, {0x3F80, 0xFF81}), 0x7FC0) << op;
  }
  EXPECT_EQ(bits(reduced<float>(kFp32, kSum, {kInf, -kInf})), bits(kNan));
  EXPECT_EQ(bits(reduced<double>(kFp64, kProd, {0., std::numeric_limits<double>::infinity()})),
            bits(std::numeric_limits<double>::quiet_NaN()));
}

TEST(Numerics, HalvesAreRoundedOnceForAllSources) {
  // 2048 + 1 + 1: rounding each sum would lose both ones.
  EXPECT_EQ(fp16_value(reduced<uint16_t>(kFp16, kSum, {0x6800, 0x3C00, 0x3C00})), 2050.f);
  // 256 + 1 + 1, the same in bfp16.
  EXPECT_EQ(bfp16_value(reduced<uint16_t>(kBfp16, kSum, {0x4380, 0x3F80, 0x3F80})), 258.f);
  // 60000 + 60000 - 60000 does not overflow on the way.
  EXPECT_EQ(fp16_value(reduced<uint16_t>(kFp16, kSum, {0x7B53, 0x7B53, 0xFB53})), 60000.f);
}

TEST(Numerics, HalvesAreRoundedToNearestEven) {
  EXPECT_EQ(fp16_value(reduced<uint16_t>(kFp16, kSum, {0x6800, 0x3C00})), 2048.f);   // 2049
  EXPECT_EQ(fp16_value(reduced<uint16_t>(kFp16, kSum, {0x6801, 0x3C00})), 2052.f);   // 2051
  EXPECT_EQ(bfp16_value(reduced<uint16_t>(kBfp16, kSum, {0x4380, 0x3F80})), 256.f);  // 257
  EXPECT_EQ(bfp16_value(reduced<uint16_t>(kBfp16, kSum, {0x4381, 0x3F80})), 260.f);  // 259
}

TEST(Numerics, HalvesOverflowToInfinityAndKeepSubnormalNumbers) {
  EXPECT_EQ(reduced<uint16_t>(kFp16, kSum, {0x7BFF, 0x7BFF}), 0x7C00);
  EXPECT_EQ(reduced<uint16_t>(kFp16, kSum, {0xFBFF, 0xCC00}), 0xFC00);  // -65504 - 16: a tie
  EXPECT_EQ(reduced<uint16_t>(kBfp16, kSum, {0x7F7F, 0x7F7F}), 0x7F80);
  EXPECT_EQ(reduced<uint16_t>(kFp16, kSum, {0x0001, 0x0001}), 0x0002);
  EXPECT_EQ(reduced<uint16_t>(kFp16, kProd, {0x0001, 0x3800}), 0x0000);  // a tie
  EXPECT_EQ(reduced<uint16_t>(kFp16, kProd, {0x0003, 0x3800}), 0x0002);  // a tie
  EXPECT_EQ(reduced<uint16_t>(kBfp16, kSum, {0x0001, 0x0001}), 0x0002);
}

TEST(Numerics, TheThreadsRoundingModeDoesNotMatter) {
  const int before = std::fegetround();
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  const float sum = reduced<float>(kFp32, kSum, {16777216.f, 1.f});
  EXPECT_EQ(std::fegetround(), FE_UPWARD) << "must be put back";
  std::fesetround(before);
  EXPECT_EQ(bits(sum), bits(16777216.f));  // to even; upward it would be 16777218
}

#if defined(__SSE2__)
TEST(Numerics, SubnormalNumbersSurviveAThreadThatFlushesThem) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // flush results, take operands for zero
  const float sum =
      reduced<float>(kFp32, kSum, {std::bit_cast<float>(1u), std::bit_cast<float>(2u)});
  _mm_setcsr(before);
  EXPECT_EQ(bits(sum), 3u);
}
#endif

}  // namespace
}  // namespace weft::kernels::test
