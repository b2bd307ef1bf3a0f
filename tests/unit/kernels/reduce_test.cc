// SPDX-License-Identifier: Apache-2.0
// Every type, operation, number of sources and of destinations, size and alignment, on every
// vector target, against the reference; the results must be equal bit by bit.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "buffers.hpp"
#include "kernels/kernels.hpp"
#include "reference.hpp"
#include "targets.hpp"

namespace weft::kernels::test {
namespace {

constexpr size_t kMostElements = 4099;
constexpr size_t kCounts[] = {0,  1,  2,  3,  7,  15,  16,   17,
                              31, 33, 63, 64, 65, 100, 1000, kMostElements};
constexpr size_t kSources[] = {2, 3, 4, 5, 8, 9, 17};
constexpr size_t kDestinations[] = {1, 2, 3, 5};

/// What is to be computed: it does not depend on the shape of the call.
struct Problem {
  int type, op;
  std::vector<Bytes> sources;
  Bytes expected;
};

Problem problem_of(int type, int op, size_t nsrc) {
  Problem problem{type, op, {}, {}};
  for (size_t s = 0; s < nsrc; ++s) {
    problem.sources.push_back(source_of(type, s, kMostElements));
  }
  problem.expected = reference(type, op, problem.sources);
  return problem;
}

/// The alignment of the n-th buffer: all to a cache line, or to elements, or to nothing.
size_t misalignment(size_t round, size_t n, size_t element) {
  const size_t any = (round * 7 + n * 29 + 1) % 64;
  return round % 3 == 0 ? 0 : round % 3 == 1 ? any / element * element : any;
}

std::vector<Guarded> placed_sources(const Problem& problem, size_t count, size_t round) {
  const size_t element = type_size(problem.type);
  std::vector<Guarded> placed;
  for (size_t s = 0; s < problem.sources.size(); ++s) {
    placed.emplace_back(count * element, misalignment(round, s, element));
    std::memcpy(placed.back().data(), problem.sources[s].data(), count * element);
  }
  return placed;
}

std::string describe(const Variant& variant, const Problem& problem, size_t ndst, size_t count,
                     size_t round) {
  return variant.name + ", op " + std::to_string(problem.op) + ", sources " +
         std::to_string(problem.sources.size()) + ", destinations " + std::to_string(ndst) +
         ", count " + std::to_string(count) + ", round " + std::to_string(round);
}

void check_apart(const Variant& variant, const Problem& problem, size_t ndst, size_t count,
                 size_t round) {
  const size_t element = type_size(problem.type);
  std::vector<Guarded> sources = placed_sources(problem, count, round);
  std::vector<Guarded> destinations;
  for (size_t d = 0; d < ndst; ++d) {
    destinations.emplace_back(count * element, misalignment(round, 20 + d, element));
  }
  std::vector<const void*> srcs;
  std::vector<void*> dsts;
  for (const Guarded& source : sources) srcs.push_back(source.data());
  for (Guarded& destination : destinations) dsts.push_back(destination.data());

  reduce_with(variant.kernels, dsts.data(), ndst, srcs.data(), srcs.size(), count, problem.type,
              problem.op);

  for (const Guarded& destination : destinations) {
    ASSERT_TRUE(destination.holds(problem.expected.data()))
        << describe(variant, problem, ndst, count, round);
  }
  for (size_t s = 0; s < sources.size(); ++s) {
    ASSERT_TRUE(sources[s].holds(problem.sources[s].data()))
        << describe(variant, problem, ndst, count, round);
  }
}

/// The destinations are the sources from `first` on.
void check_in_place(const Variant& variant, const Problem& problem, size_t first, size_t ndst,
                    size_t count, size_t round) {
  std::vector<Guarded> sources = placed_sources(problem, count, round);
  const size_t nsrc = sources.size();
  std::vector<const void*> srcs;
  std::vector<void*> dsts;
  for (const Guarded& source : sources) srcs.push_back(source.data());
  for (size_t d = 0; d < ndst; ++d) dsts.push_back(sources[(first + d) % nsrc].data());

  reduce_with(variant.kernels, dsts.data(), ndst, srcs.data(), nsrc, count, problem.type,
              problem.op);

  for (size_t s = 0; s < nsrc; ++s) {
    const bool written = (s + nsrc - first) % nsrc < ndst;
    ASSERT_TRUE(sources[s].holds(written ? problem.expected.data() : problem.sources[s].data()))
        << describe(variant, problem, ndst, count, round) << ", in place from source " << first;
  }
}

class ReduceOfType : public testing::TestWithParam<int> {};

TEST_P(ReduceOfType, EqualsTheReferenceForEveryShape) {
  const std::vector<Variant> all = variants();
  size_t round = 0;
  for (const int op : kOps) {
    for (const size_t nsrc : kSources) {
      const Problem problem = problem_of(GetParam(), op, nsrc);
      for (const size_t ndst : kDestinations) {
        for (const size_t count : kCounts) {
          ++round;
          for (const Variant& variant : all) {
            ASSERT_NO_FATAL_FAILURE(check_apart(variant, problem, ndst, count, round));
          }
        }
      }
    }
  }
}

TEST_P(ReduceOfType, MayWriteOverAnyOfItsSources) {
  const std::vector<Variant> all = variants();
  size_t round = 0;
  for (const int op : kOps) {
    for (const size_t nsrc : {2, 3, 5, 9}) {
      const Problem problem = problem_of(GetParam(), op, nsrc);
      for (size_t first = 0; first < nsrc; ++first) {
        for (const size_t count : {1, 17, 33, 100, 1000}) {
          ++round;
          for (const Variant& variant : all) {
            ASSERT_NO_FATAL_FAILURE(
                check_in_place(variant, problem, first, 1 + round % 2, count, round));
          }
        }
      }
    }
  }
}

TEST_P(ReduceOfType, TouchesNothingButItsElements) {
  const size_t element = type_size(GetParam());
  std::array<Fenced, 5> memory;
  for (const Variant& variant : variants()) {
    for (const int op : kOps) {
      for (size_t count = 1; count < 1100; count += count < 140 ? 1 : 119) {
        for (const auto place : {&Fenced::first, &Fenced::last}) {
          std::array<void*, 5> at;
          for (size_t i = 0; i < 5; ++i) at[i] = (memory[i].*place)(count * element);
          const void* srcs[] = {at[0], at[1], at[2]};
          reduce_with(variant.kernels, at.data() + 3, 2, srcs, 2 + count % 2, count, GetParam(),
                      op);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ReduceOfType, testing::ValuesIn(kArithmeticTypes));

TEST(Reduce, IsRightAtSizesBeyondTheCaches) {
  constexpr size_t kCount = (size_t{80} << 20) / sizeof(uint32_t) + 3;
  std::vector<uint32_t> a(kCount + 1), b(kCount + 1), sum(kCount + 1, 7);
  for (uint32_t i = 0; i < kCount; ++i) {
    a[i] = i * 3;
    b[i + 1] = i * 0x9E3779B9u;
  }
  void* dst = sum.data() + 1;
  const void* srcs[] = {a.data(), b.data() + 1};
  reduce(&dst, 1, srcs, 2, kCount, kUint32, kSum);
  EXPECT_EQ(sum[0], 7u);
  size_t wrong = 0;
  for (uint32_t i = 0; i < kCount; ++i) wrong += sum[i + 1] != i * 3 + i * 0x9E3779B9u;
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace weft::kernels::test
