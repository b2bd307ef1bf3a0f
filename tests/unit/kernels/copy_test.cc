// SPDX-License-Identifier: Apache-2.0
// Copies: to one destination and to several, of every type, size and alignment.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "buffers.hpp"
#include "kernels/kernels.hpp"
#include "reference.hpp"
#include "targets.hpp"

namespace weft::kernels::test {
namespace {

Bytes pattern(size_t bytes) {
  Bytes made(bytes);
  for (size_t i = 0; i < bytes; ++i) made[i] = static_cast<uint8_t>(i * 31 + (i >> 8) + 1);
  return made;
}

TEST(Copy, MovesEverySizeAtEveryAlignment) {
  for (const Variant& variant : variants()) {
    for (size_t bytes = 0; bytes < 2100; bytes += bytes < 300 ? 1 : 97) {
      const Bytes expected = pattern(bytes);
      Guarded src(bytes, bytes * 5), dst(bytes, bytes * 3);
      if (bytes != 0) std::memcpy(src.data(), expected.data(), bytes);
      copy_with(variant.kernels, dst.data(), src.data(), bytes);
      ASSERT_TRUE(dst.holds(expected.data())) << variant.name << ", " << bytes << " bytes";
      ASSERT_TRUE(src.holds(expected.data())) << variant.name << ", " << bytes << " bytes";
    }
  }
}

TEST(Copy, IsRightWhereTheDestinationBeginsAFewBytesFurtherInItsPage) {
  for (const Variant& variant : variants()) {
    for (const size_t bytes : {2047, 2048, 2049, 9000}) {
      const Bytes expected = pattern(bytes);
      for (size_t after = 0; after < 70; ++after) {
        Bytes memory(40000, 0xEE);
        uint8_t* src = memory.data() + 5;
        uint8_t* dst = src + 3 * 4096 + after;
        std::memcpy(src, expected.data(), bytes);
        copy_with(variant.kernels, dst, src, bytes);
        ASSERT_EQ(std::memcmp(dst, expected.data(), bytes), 0) << variant.name << ", " << after;
        ASSERT_TRUE(dst[-1] == 0xEE && dst[bytes] == 0xEE) << variant.name << ", " << after;
      }
    }
  }
}

TEST(Copy, OntoItselfChangesNothing) {
  for (const Variant& variant : variants()) {
    const Bytes expected = pattern(5000);
    Guarded both(5000, 3);
    std::memcpy(both.data(), expected.data(), 5000);
    copy_with(variant.kernels, both.data(), both.data(), 5000);
    EXPECT_TRUE(both.holds(expected.data())) << variant.name;
  }
}

TEST(Copy, IsRightAtSizesBeyondTheCaches) {
  const size_t bytes = (size_t{80} << 20) + 5;
  const Bytes expected = pattern(bytes);
  Guarded dst(bytes, 13);
  copy(dst.data(), expected.data(), bytes);
  EXPECT_TRUE(dst.holds(expected.data()));
}

TEST(ReduceOfOneSource, IsACopyToEveryDestinationForEveryType) {
  for (const Variant& variant : variants()) {
    for (const int type : kAllTypes) {
      for (const size_t ndst : {1, 2, 3, 5}) {
        for (const size_t count : {0, 1, 3, 17, 64, 1000}) {
          const size_t bytes = count * type_size(type);
          const Bytes expected = pattern(bytes);
          std::vector<Guarded> destinations;
          std::vector<void*> dsts;
          for (size_t d = 0; d < ndst; ++d) destinations.emplace_back(bytes, d * 9 + count);
          for (Guarded& destination : destinations) dsts.push_back(destination.data());
          const void* src = expected.data();
          reduce_with(variant.kernels, dsts.data(), ndst, &src, 1, count, type, kSum);
          for (const Guarded& destination : destinations) {
            ASSERT_TRUE(destination.holds(expected.data()))
                << variant.name << ", type " << type << ", " << ndst << " x " << count;
          }
        }
      }
    }
  }
}

TEST(ReduceOfOneSource, ReachesTheDestinationsAroundTheSourceItself) {
  for (const Variant& variant : variants()) {
    for (size_t own = 0; own < 5; ++own) {
      const Bytes expected = pattern(4000);
      std::vector<Guarded> buffers;
      std::vector<void*> dsts;
      for (size_t d = 0; d < 5; ++d) buffers.emplace_back(4000, d * 8);
      for (Guarded& buffer : buffers) dsts.push_back(buffer.data());
      std::memcpy(dsts[own], expected.data(), 4000);
      const void* src = dsts[own];
      reduce_with(variant.kernels, dsts.data(), 5, &src, 1, 1000, kFp32, kMax);
      for (const Guarded& buffer : buffers) {
        EXPECT_TRUE(buffer.holds(expected.data())) << variant.name << ", source at " << own;
      }
    }
  }
}

}  // namespace
}  // namespace weft::kernels::test
