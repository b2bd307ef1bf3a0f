// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "hccl/hccl_comm.h"

namespace {

constexpr char kFiller = '\x5a';

HcclCommConfig initialised() {
  HcclCommConfig config;
  std::memset(&config, kFiller, sizeof(config));
  HcclCommConfigInit(&config);
  return config;
}

template <size_t N>
bool only_first_byte_is_cleared(const char (&text)[N]) {
  return text[0] == '\0' &&
         std::all_of(text + 1, text + N, [](char letter) { return letter == kFiller; });
}

TEST(CommConfigInit, RecordsSizeMagicAndVersionOfTheCallersHeader) {
  struct {
    uint64_t size;
    uint32_t magic;
    uint32_t version;
    uint64_t reserved;
  } info;
  const HcclCommConfig config = initialised();
  static_assert(sizeof(info) == sizeof(config.reserved), "the record fills the member");
  std::memcpy(&info, config.reserved, sizeof(info));
  EXPECT_EQ(info.size, 2248u);
  EXPECT_EQ(info.magic, 0xf0f0f0f0u);
  EXPECT_EQ(info.version, 11u);
  EXPECT_EQ(info.reserved, 0u);
}

TEST(CommConfigInit, MarksOptionsThatHaveAnUnsetValueAsNotSet) {
  const HcclCommConfig config = initialised();
  EXPECT_EQ(config.hcclBufferSize, 0xffffffffu);
  EXPECT_EQ(config.hcclDeterministic, 0xffffffffu);
  EXPECT_EQ(config.hcclRdmaTrafficClass, 0xffffffffu);
  EXPECT_EQ(config.hcclRdmaServiceLevel, 0xffffffffu);
  EXPECT_EQ(config.hcclExecTimeOut, -1);
  EXPECT_EQ(config.hcclQos, 0xffffffffu);
  EXPECT_EQ(config.hcclChannelSqDepth, 0xffffffffu);
}

TEST(CommConfigInit, GivesTheOtherOptionsTheirDefaults) {
  const HcclCommConfig config = initialised();
  EXPECT_EQ(config.hcclOpExpansionMode, 0u);
  EXPECT_EQ(config.hcclWorldRankID, 0u);
  EXPECT_EQ(config.hcclJobID, 0u);
  EXPECT_EQ(config.aclGraphZeroCopyEnable, 0);
  EXPECT_EQ(config.hcclSymWinMaxMemSizePerRank, 16u);
}

TEST(CommConfigInit, EmptiesStringsByTheirFirstByteOnly) {
  const HcclCommConfig config = initialised();
  EXPECT_TRUE(only_first_byte_is_cleared(config.hcclCommName));
  EXPECT_TRUE(only_first_byte_is_cleared(config.hcclUdi));
  EXPECT_TRUE(only_first_byte_is_cleared(config.hcclAlgo));
  EXPECT_TRUE(only_first_byte_is_cleared(config.hcclRetryEnable));
  EXPECT_TRUE(only_first_byte_is_cleared(config.hcclRetryParams));
  EXPECT_TRUE(only_first_byte_is_cleared(config.hcclBufferName));
}

TEST(CommConfigInit, IgnoresNull) { HcclCommConfigInit(nullptr); }

}  // namespace
