// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>

#include "hccl/hccl_comm.h"

namespace {

constexpr std::array kTexts = {
    "no error",
    "parameter error",
    "empty pointer",
    "memory error",
    "internal error",
    "not support feature",
    "not found specific resource",
    "resource unavailable",
    "call system interface error",
    "timeout",
    "open file fail",
    "tcp connect fail",
    "roce connect fail",
    "tcp transfer fail",
    "roce transfer fail",
    "call runtime api fail",
    "call driver api fail",
    "call profiling api fail",
    "call cce api fail",
    "call network api fail",
    "try again",
    "error cqe",
    "error communicator suspending",
    "retry constraint",
    "out of memory",
};

const char* text_of(int code) { return HcclGetErrorString(static_cast<HcclResult>(code)); }

TEST(ErrorString, NamesEveryCodeAsDocumented) {
  for (int code = 0; code < static_cast<int>(kTexts.size()); ++code) {
    EXPECT_STREQ(text_of(code), kTexts[code]) << "code " << code;
  }
}

TEST(ErrorString, CallsUnassignedCodesUnknownErr) {
  for (const int code : {25, 500, 1040, 1041}) {
    EXPECT_STREQ(text_of(code), "unknown err") << "code " << code;
  }
}

TEST(ErrorString, CallsCodesOutsideTheRangeUnknownError) {
  for (const int code : {-1, -1000, 1042, 1043}) {
    EXPECT_STREQ(text_of(code), "unknown error") << "code " << code;
  }
}

TEST(ErrorString, ReturnsTheSameStringEachTime) { EXPECT_EQ(text_of(4), text_of(4)); }

}  // namespace
