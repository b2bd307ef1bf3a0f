// SPDX-License-Identifier: Apache-2.0
#include "api/free_slots.hpp"

#include <gtest/gtest.h>

#include <string>

namespace weft::api {
namespace {

TEST(FreeSlots, AreTakenUntilThereAreNone) {
  FreeSlots slots(3);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(slots.take(), i);
  try {
    (void)slots.take();
    FAIL() << "a fourth one";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), HCCL_E_MEMORY);
    EXPECT_NE(std::string(error.what()).find("3 communicators"), std::string::npos) << error.what();
  }
}

TEST(FreeSlots, GivenBackAreTakenAgainInThatOrder) {
  FreeSlots slots(4);
  for (uint32_t i = 0; i < 3; ++i) (void)slots.take();
  slots.give_back(2);
  slots.give_back(0);
  EXPECT_EQ(slots.take(), 3u) << "one that nobody had";
  EXPECT_EQ(slots.take(), 2u);
  EXPECT_EQ(slots.take(), 0u);
  EXPECT_THROW((void)slots.take(), Error);
  slots.give_back(1);
  EXPECT_EQ(slots.take(), 1u);
}

}  // namespace
}  // namespace weft::api
