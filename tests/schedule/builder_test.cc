// SPDX-License-Identifier: Apache-2.0
// What the builder refuses, and what it says.
#include "schedule/builder.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/error.hpp"
#include "weft/sdk.hpp"

namespace weft::schedule {
namespace {

using Emit = std::function<int32_t(const weft_builder&)>;
const Emit* g_emit = nullptr;  // of the test that runs

int32_t run_emit(const weft_problem*, const weft_builder* builder) { return (*g_emit)(*builder); }

/// Rank 1 of 4, by default in an all-reduce.
Schedule build(const Emit& write, uint32_t op = WEFT_OP_ALL_REDUCE) {
  const weft_algorithm algorithm{WEFT_HEAD(weft_algorithm), "it",    "",        op,     0, 2, 8, 0,
                                 sizeof(weft_param),        nullptr, &run_emit, nullptr};
  g_emit = &write;
  return emit(algorithm, "test.it", {op, 4, 1, 0}, {});
}

/// The text of the error that `write` provokes; empty if there is none.
std::string refusal(const Emit& write, uint32_t op = WEFT_OP_ALL_REDUCE) {
  try {
    (void)build(write, op);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

struct StepParts {
  uint32_t verb = WEFT_VERB_COPY;
  std::vector<weft_chunk> dsts = {};
  std::vector<weft_chunk> srcs = {};
  uint32_t peer = 0;
};

weft_step raw(const StepParts& parts) {
  return {WEFT_HEAD(weft_step),
          parts.verb,
          parts.peer,
          static_cast<uint32_t>(parts.dsts.size()),
          static_cast<uint32_t>(parts.srcs.size()),
          sizeof(weft_chunk),
          0,
          parts.dsts.data(),
          parts.srcs.data()};
}

int32_t append(const weft_builder& builder, const StepParts& parts) {
  const weft_step step = raw(parts);
  return builder.append(builder.self, &step);
}

std::string refusal(const StepParts& parts, uint32_t op = WEFT_OP_ALL_REDUCE) {
  return refusal([&](const weft_builder& b) { return append(b, parts); }, op);
}

testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << text << "' does not contain '" << part << "'";
}

constexpr weft_chunk kIn{WEFT_SPACE_IN, 1, 0, 0, 1};
constexpr weft_chunk kOut{WEFT_SPACE_OUT, 1, 0, 0, 1};

TEST(Builder, KeepsWhatIsWellFormed) {
  const Schedule s = build([](const weft_builder& b) {
    const int32_t code = append(b, {WEFT_VERB_COPY, {kOut}, {kIn}});
    return code != WEFT_OK ? code : append(b, {.verb = WEFT_VERB_SIGNAL, .peer = 3});
  });
  ASSERT_EQ(s.steps.size(), 2u);
  EXPECT_EQ(s.dsts(s.steps[0])[0].space, static_cast<uint32_t>(WEFT_SPACE_OUT));
  EXPECT_EQ(s.srcs(s.steps[0])[0].space, static_cast<uint32_t>(WEFT_SPACE_IN));
  EXPECT_EQ(s.steps[1].peer, 3u);
  EXPECT_EQ(s.scratch_blocks, 0u);
}

TEST(Builder, CountsScratchBlocksOfAllRanks) {
  const Schedule s = build([](const weft_builder& b) {
    return append(b, {WEFT_VERB_COPY, {{WEFT_SPACE_SCRATCH, 3, 6, 0, 1}}, {kIn}});
  });
  EXPECT_EQ(s.scratch_blocks, 7u);
}

TEST(Builder, NamesAlgorithmShapeStepAndReason) {
  const std::string text = refusal({WEFT_VERB_COPY, {kOut}, {{WEFT_SPACE_IN, 9, 0, 0, 1}}});
  EXPECT_TRUE(says(text, "algorithm test.it, all_reduce on 4 ranks, rank 1: step 0 is refused"));
  EXPECT_TRUE(says(text, "copy out@1 <- in@9: in@9: no rank 9"));
}

TEST(Builder, RefusesBadVerbsAndCounts) {
  EXPECT_TRUE(says(refusal({99, {kOut}, {kIn}}), "unknown verb 99"));
  EXPECT_TRUE(says(refusal({WEFT_VERB_COPY, {kOut}, {kIn, kIn}}), "exactly one source"));
  EXPECT_TRUE(says(refusal({WEFT_VERB_COPY, {}, {kIn}}), "no destination"));
  EXPECT_TRUE(says(refusal({WEFT_VERB_REDUCE, {kOut}, {}}), "needs a source"));
  EXPECT_TRUE(says(refusal({WEFT_VERB_COPY, {kOut}, {kIn}, 2}), "have no peer"));
  const std::vector<weft_chunk> many(200, kIn);
  EXPECT_TRUE(says(refusal({WEFT_VERB_REDUCE, {kOut}, many}), "more than 80"));
}

TEST(Builder, RefusesReducingWhereThereIsNoReduction) {
  const StepParts step{WEFT_VERB_REDUCE, {{WEFT_SPACE_OUT, 1, 2, 0, 1}}, {kIn, kIn}};
  EXPECT_TRUE(says(refusal(step, WEFT_OP_ALL_GATHER), "all_gather has nothing to reduce with"));
}

TEST(Builder, RefusesBadPeers) {
  EXPECT_TRUE(says(refusal({.verb = WEFT_VERB_SIGNAL, .peer = 1}), "cannot signal itself"));
  EXPECT_TRUE(says(refusal({.verb = WEFT_VERB_WAIT, .peer = 1}), "wait for itself"));
  EXPECT_TRUE(says(refusal({.verb = WEFT_VERB_WAIT, .peer = 4}), "no rank 4"));
  EXPECT_TRUE(says(refusal({WEFT_VERB_WAIT, {kOut}, {}, 2}), "has no operands"));
}

TEST(Builder, CountsReservedScratch) {
  const auto reserve = [](uint32_t blocks) {
    return [blocks](const weft_builder& b) { return b.reserve(b.self, blocks); };
  };
  EXPECT_EQ(build(reserve(9)).scratch_blocks, 9u);
  EXPECT_TRUE(says(refusal(reserve(81)), "reserves 81 blocks of Scratch; at most 80"));
  EXPECT_TRUE(says(refusal(reserve(1), WEFT_OP_ALL_TO_ALL_V), "all_to_all_v has no Scratch"));
}

TEST(Builder, RefusesWhatOnlyTheRootHas) {
  const StepParts scatter{WEFT_VERB_COPY, {kOut}, {{WEFT_SPACE_IN, 2, 1, 0, 1}}};
  EXPECT_TRUE(says(refusal(scatter, WEFT_OP_SCATTER), "in[1]@2: only the root has an input"));
  const StepParts reduce{WEFT_VERB_REDUCE, {kOut}, {kIn}};
  EXPECT_TRUE(says(refusal(reduce, WEFT_OP_REDUCE), "out@1: only the root has an output"));
}

constexpr weft_chunk in_block(uint32_t rank, uint32_t block) {
  return {WEFT_SPACE_IN, rank, block, 0, 1};
}
constexpr weft_chunk out_block(uint32_t rank, uint32_t block) {
  return {WEFT_SPACE_OUT, rank, block, 0, 1};
}
constexpr weft_chunk kScratch{WEFT_SPACE_SCRATCH, 1, 0, 0, 1};

TEST(Builder, RefusesChunksOfDifferentLengthsInOneStep) {
  const auto copy = [](uint32_t op, const weft_chunk& dst, const weft_chunk& src) {
    return refusal({WEFT_VERB_COPY, {dst}, {src}}, op);
  };
  const uint32_t gather = WEFT_OP_ALL_GATHER_V;
  EXPECT_EQ(copy(gather, out_block(1, 3), in_block(3, 0)), "");
  EXPECT_EQ(copy(gather, out_block(1, 3), out_block(2, 3)), "");
  EXPECT_TRUE(
      says(copy(gather, out_block(1, 3), in_block(2, 0)), "in@2 is not as long as out[3]@1"));
  const uint32_t scatter = WEFT_OP_REDUCE_SCATTER_V;
  EXPECT_EQ(copy(scatter, out_block(1, 0), in_block(3, 1)), "");
  EXPECT_TRUE(says(copy(scatter, out_block(1, 0), in_block(1, 2)), "is not as long as"));
  const uint32_t all = WEFT_OP_ALL_TO_ALL_V;
  EXPECT_EQ(copy(all, out_block(1, 3), in_block(3, 1)), "");
  EXPECT_EQ(copy(all, out_block(3, 1), in_block(1, 3)), "");
  EXPECT_TRUE(says(copy(all, out_block(1, 3), in_block(1, 3)), "is not as long as"));
}

TEST(Builder, RefusesWhatHasNoLengthOrPlaceInVectorOperations) {
  const auto copy = [](uint32_t op, const weft_chunk& dst, const weft_chunk& src) {
    return refusal({WEFT_VERB_COPY, {dst}, {src}}, op);
  };
  EXPECT_EQ(copy(WEFT_OP_REDUCE_SCATTER_V, kScratch, in_block(1, 2)), "");
  EXPECT_TRUE(says(copy(WEFT_OP_REDUCE_SCATTER_V, kScratch, kScratch), "Scratch alone"));
  EXPECT_TRUE(
      says(copy(WEFT_OP_ALL_GATHER_V, {WEFT_SPACE_OUT, 1, 1, 0, 2}, {WEFT_SPACE_IN, 1, 0, 0, 2}),
           "blocks are not cut here"));
  EXPECT_TRUE(says(copy(WEFT_OP_ALL_TO_ALL_V, kScratch, kIn), "has no Scratch"));
  EXPECT_TRUE(says(copy(WEFT_OP_ALL_TO_ALL_V, out_block(1, 3), in_block(3, 0)),
                   "of a peer, only block 1, its own"));
}

TEST(Builder, RefusesChunksOutOfRange) {
  const auto with = [](const weft_chunk& chunk, uint32_t op = WEFT_OP_ALL_REDUCE) {
    return refusal({WEFT_VERB_COPY, {chunk}, {kIn}}, op);
  };
  EXPECT_TRUE(says(with({7, 1, 0, 0, 1}), "unknown space 7"));
  EXPECT_TRUE(says(with({WEFT_SPACE_OUT, 1, 1, 0, 1}), "only 1 blocks"));
  EXPECT_TRUE(says(with({WEFT_SPACE_OUT, 1, 4, 0, 1}, WEFT_OP_ALL_GATHER), "only 4 blocks"));
  EXPECT_TRUE(says(with({WEFT_SPACE_OUT, 1, 0, 0, 1}, WEFT_OP_BARRIER), "only 0 blocks"));
  EXPECT_TRUE(says(with({WEFT_SPACE_SCRATCH, 1, 80, 0, 1}), "only 80 blocks"));
  EXPECT_TRUE(says(with({WEFT_SPACE_OUT, 1, 0, 0, 0}), "1 to 65536 parts"));
  EXPECT_TRUE(says(with({WEFT_SPACE_OUT, 1, 0, 0, 70000}), "1 to 65536 parts"));
  EXPECT_TRUE(says(with({WEFT_SPACE_OUT, 1, 0, 3, 3}), "counted from 0"));
}

TEST(Builder, RefusesChunksOfDifferentLength) {
  const weft_chunk half{WEFT_SPACE_OUT, 1, 0, 0, 2};
  EXPECT_TRUE(says(refusal({WEFT_VERB_COPY, {half}, {kIn}}), "same part of their blocks"));
  const weft_chunk other{WEFT_SPACE_IN, 1, 0, 1, 2};
  EXPECT_TRUE(says(refusal({WEFT_VERB_COPY, {half}, {other}}), "same part of their blocks"));
}

TEST(Builder, RefusesADestinationTwice) {
  EXPECT_TRUE(says(refusal({WEFT_VERB_COPY, {kOut, kOut}, {kIn}}), "out@1 is twice a destination"));
}

TEST(Builder, RefusesTwoNumbersOfParts) {
  const std::string text = refusal([](const weft_builder& b) -> int32_t {
    for (const uint32_t parts : {2u, 4u}) {
      const StepParts step{
          WEFT_VERB_COPY, {{WEFT_SPACE_OUT, 1, 0, 0, parts}}, {{WEFT_SPACE_IN, 1, 0, 0, parts}}};
      if (const int32_t code = append(b, step); code != WEFT_OK) return code;
    }
    return WEFT_OK;
  });
  EXPECT_TRUE(says(text, "step 1 is refused"));
  EXPECT_TRUE(says(text, "also cuts blocks into 2 parts"));
}

TEST(Builder, RefusesStepsOfAnotherAbi) {
  const auto with = [](const std::function<void(weft_step&)>& change) {
    return refusal([&](const weft_builder& b) {
      const StepParts parts{WEFT_VERB_COPY, {kOut}, {kIn}};
      weft_step step = raw(parts);
      change(step);
      return b.append(b.self, &step);
    });
  };
  EXPECT_TRUE(says(with([](weft_step& s) { s.head.major = 2; }), "ABI major 2"));
  EXPECT_TRUE(says(with([](weft_step& s) { s.head.size = 16; }), "too short for a step"));
  EXPECT_TRUE(says(with([](weft_step& s) { s.stride = 8; }), "stride is 8"));
  EXPECT_TRUE(says(with([](weft_step& s) { s.srcs = nullptr; }), "not given"));
  EXPECT_EQ(with([](weft_step& s) { s.head.size += 64; }), "");
  EXPECT_TRUE(says(refusal([](const weft_builder& b) { return b.append(b.self, nullptr); }),
                   "no step given"));
}

TEST(Builder, ReadsChunksOfALaterMinorByTheirStride) {
  struct LongChunk {
    weft_chunk chunk;
    uint32_t more;
  };
  const Schedule s = build([](const weft_builder& b) {
    const LongChunk dst{kOut, 1};
    const LongChunk srcs[] = {{{WEFT_SPACE_IN, 0, 0, 0, 1}, 7}, {{WEFT_SPACE_IN, 3, 0, 0, 1}, 8}};
    weft_step step = raw({.verb = WEFT_VERB_REDUCE});
    step.dst_count = 1;
    step.src_count = 2;
    step.dsts = &dst.chunk;
    step.srcs = &srcs[0].chunk;
    step.stride = sizeof(LongChunk);
    return b.append(b.self, &step);
  });
  EXPECT_EQ(s.srcs(s.steps[0])[0].rank, 0u);
  EXPECT_EQ(s.srcs(s.steps[0])[1].rank, 3u);
}

TEST(Builder, KeepsTheFirstReasonEvenIfThePluginGoesOn) {
  const std::string text = refusal([](const weft_builder& b) {
    EXPECT_EQ(append(b, {.verb = 50}), WEFT_E_PARA);
    EXPECT_EQ(append(b, {.verb = 51}), WEFT_E_PARA);
    return WEFT_OK;
  });
  EXPECT_TRUE(says(text, "unknown verb 50"));
}

TEST(Builder, GivesTheAlgorithmsOwnCode) {
  try {
    (void)build([](const weft_builder&) { return WEFT_E_NOT_SUPPORT; });
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), HCCL_E_NOT_SUPPORT);
    EXPECT_TRUE(says(error.what(), "emit failed with code 5"));
  }
}

TEST(Builder, AsksOnlyQuestionsThatTheAlgorithmIsFor) {
  const Emit nothing = [](const weft_builder&) { return WEFT_OK; };
  g_emit = &nothing;
  const weft_algorithm algorithm{
      WEFT_HEAD(weft_algorithm), "it",    "",        WEFT_OP_BARRIER, 0, 2, 8, 0,
      sizeof(weft_param),        nullptr, &run_emit, nullptr};
  const auto ask = [&](const Shape& shape, std::span<const int64_t> params) -> std::string {
    try {
      (void)emit(algorithm, "test.it", shape, params);
      return "";
    } catch (const Error& error) {
      return error.what();
    }
  };
  const int64_t value = 1;
  EXPECT_EQ(ask({WEFT_OP_BARRIER, 8, 7, 0}, {}), "");
  EXPECT_TRUE(says(ask({WEFT_OP_BARRIER, 9, 0, 0}, {}), "it is for 2..8 ranks"));
  EXPECT_TRUE(says(ask({WEFT_OP_BARRIER, 1, 0, 0}, {}), "it is for 2..8 ranks"));
  EXPECT_TRUE(says(ask({WEFT_OP_BARRIER, 4, 4, 0}, {}), "no such rank"));
  EXPECT_TRUE(says(ask({WEFT_OP_ALL_REDUCE, 4, 0, 0}, {}), "it is for barrier"));
  EXPECT_TRUE(says(ask({WEFT_OP_BARRIER, 4, 0, 0}, {&value, 1}), "0 parameters, 1 values"));
}

}  // namespace
}  // namespace weft::schedule
