// SPDX-License-Identifier: Apache-2.0
#include "plugin/param.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace weft::plugin {
namespace {

const Param kPieces{"pieces", "", 2, 1, 8, WEFT_PARAM_INTEGER, {}};
const Param kWide{"wide", "", 0, 0, 1, WEFT_PARAM_BOOLEAN, {}};
const Param kSide{"side", "", 1, 0, 2, WEFT_PARAM_CHOICE, {"left", "right", "both"}};

TEST(ParamValue, MustBeOfTheTypeThatIsDeclared) {
  const Written number = int64_t{1};
  const Written truth = true;
  const Written name = std::string("left");
  EXPECT_EQ(value_of(kPieces, number), 1);
  EXPECT_EQ(value_of(kPieces, truth), std::nullopt);
  EXPECT_EQ(value_of(kPieces, name), std::nullopt);
  EXPECT_EQ(value_of(kWide, number), std::nullopt);
  EXPECT_EQ(value_of(kWide, truth), 1);
  EXPECT_EQ(value_of(kWide, Written(false)), 0);
  EXPECT_EQ(value_of(kWide, name), std::nullopt);
  EXPECT_EQ(value_of(kSide, number), std::nullopt);
  EXPECT_EQ(value_of(kSide, truth), std::nullopt);
  EXPECT_EQ(value_of(kSide, name), 0);
}

TEST(ParamValue, MustBeAmongWhatIsAllowed) {
  for (const int64_t inside : {1, 8}) EXPECT_EQ(value_of(kPieces, Written(inside)), inside);
  for (const int64_t outside : {0, 9}) EXPECT_EQ(value_of(kPieces, Written(outside)), std::nullopt);
  EXPECT_EQ(value_of(kSide, Written(std::string("both"))), 2);
  EXPECT_EQ(value_of(kSide, Written(std::string("Left"))), std::nullopt);
}

TEST(ParamValue, IsReadFromAWord) {
  EXPECT_EQ(written("3"), Written(int64_t{3}));
  EXPECT_EQ(written("-3"), Written(int64_t{-3}));
  EXPECT_EQ(written("true"), Written(true));
  EXPECT_EQ(written("false"), Written(false));
  for (const char* name : {"", "3x", "left", "True", "99999999999999999999"}) {
    EXPECT_EQ(written(name), Written(std::string(name)));
  }
}

TEST(ParamValue, IsShownAsAPolicyHasIt) {
  EXPECT_EQ(value_text(kPieces, 3), "3");
  EXPECT_EQ(value_text(kWide, 0), "false");
  EXPECT_EQ(value_text(kSide, 2), "\"both\"");
  EXPECT_EQ(value_text(Written(int64_t{-1})), "-1");
  EXPECT_EQ(value_text(Written(true)), "true");
  EXPECT_EQ(value_text(Written(std::string("x"))), "\"x\"");
}

TEST(Param, ShowsItsTypeAndWhatIsAllowed) {
  EXPECT_EQ(type_name(kPieces), "integer");
  EXPECT_EQ(range_text(kPieces), "1..8");
  EXPECT_EQ(type_name(kWide), "boolean");
  EXPECT_EQ(range_text(kWide), "true or false");
  EXPECT_EQ(type_name(kSide), "choice");
  EXPECT_EQ(range_text(kSide), "\"left\", \"right\", \"both\"");
}

}  // namespace
}  // namespace weft::plugin
