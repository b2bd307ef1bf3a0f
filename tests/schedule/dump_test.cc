// SPDX-License-Identifier: Apache-2.0
#include "schedule/dump.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace weft::schedule {
namespace {

TEST(Dump, ListsOneStepALine) {
  const std::vector<Schedule> schedules = emit_all("mesh.two_shot", 2);
  EXPECT_EQ(dump(schedules[1]),
            "# all_reduce, rank 1 of 2, 5 steps, 0 blocks of scratch\n"
            "r1    0: signal 0\n"
            "r1    1: wait 0\n"
            "r1    2: reduce out[1/2]@0 out[1/2]@1 <- in[1/2]@0 + in[1/2]@1\n"
            "r1    3: signal 0\n"
            "r1    4: wait 0\n");
}

TEST(Dump, NamesTheRootOfABroadcast) {
  const std::vector<Schedule> schedules = emit_all("mesh.broadcast_push", 3, 2);
  EXPECT_EQ(dump(schedules[0]),
            "# broadcast, rank 0 of 3, root 2, 2 steps, 0 blocks of scratch\n"
            "r0    0: signal 2\n"
            "r0    1: wait 2\n");
}

TEST(Dump, NamesBlocksOnlyWhereThereAreSeveral) {
  const Shape gather{WEFT_OP_ALL_GATHER, 4, 0, 0};
  EXPECT_EQ(dump_chunk(gather, {WEFT_SPACE_IN, 3, 0, 0, 1}), "in@3");
  EXPECT_EQ(dump_chunk(gather, {WEFT_SPACE_OUT, 3, 2, 0, 1}), "out[2]@3");
  EXPECT_EQ(dump_chunk(gather, {WEFT_SPACE_SCRATCH, 0, 0, 1, 2}), "scratch[0][1/2]@0");
}

TEST(Dump, ShortensLongLists) {
  const std::vector<Schedule> schedules = emit_all("mesh.reduce_scatter", 5);
  const Schedule& first = schedules[0];
  EXPECT_EQ(dump_step(first, first.steps[8], 2), "reduce out@0 <- in[0]@0 + in[0]@1 + ... (5)");
}

}  // namespace
}  // namespace weft::schedule
