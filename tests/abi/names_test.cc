// SPDX-License-Identifier: Apache-2.0
#include "base/names.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace weft {
namespace {

using std::string_view_literals::operator""sv;

struct TypeFacts {
  HcclDataType type;
  std::string_view name;
  std::size_t size;
  bool reducible;
};

constexpr std::array kTypes = {
    TypeFacts{HCCL_DATA_TYPE_INT8, "int8", 1, true},
    TypeFacts{HCCL_DATA_TYPE_INT16, "int16", 2, true},
    TypeFacts{HCCL_DATA_TYPE_INT32, "int32", 4, true},
    TypeFacts{HCCL_DATA_TYPE_FP16, "fp16", 2, true},
    TypeFacts{HCCL_DATA_TYPE_FP32, "fp32", 4, true},
    TypeFacts{HCCL_DATA_TYPE_INT64, "int64", 8, true},
    TypeFacts{HCCL_DATA_TYPE_UINT64, "uint64", 8, true},
    TypeFacts{HCCL_DATA_TYPE_UINT8, "uint8", 1, true},
    TypeFacts{HCCL_DATA_TYPE_UINT16, "uint16", 2, true},
    TypeFacts{HCCL_DATA_TYPE_UINT32, "uint32", 4, true},
    TypeFacts{HCCL_DATA_TYPE_FP64, "fp64", 8, true},
    TypeFacts{HCCL_DATA_TYPE_BFP16, "bfp16", 2, true},
    TypeFacts{HCCL_DATA_TYPE_INT128, "int128", 16, false},
    TypeFacts{HCCL_DATA_TYPE_HIF8, "hif8", 1, false},
    TypeFacts{HCCL_DATA_TYPE_FP8E4M3, "fp8e4m3", 1, false},
    TypeFacts{HCCL_DATA_TYPE_FP8E5M2, "fp8e5m2", 1, false},
    TypeFacts{HCCL_DATA_TYPE_FP8E8M0, "fp8e8m0", 1, false},
};

TEST(Names, EveryTypeHasItsNameSizeAndReducibility) {
  for (const TypeFacts& facts : kTypes) {
    EXPECT_EQ(type_name(facts.type), facts.name);
    EXPECT_EQ(parse_type(facts.name), static_cast<int>(facts.type));
    EXPECT_EQ(type_size(facts.type), facts.size) << facts.name;
    EXPECT_EQ(reducible(facts.type), facts.reducible) << facts.name;
  }
}

TEST(Names, NumbersWithoutATypeAreUnknown) {
  for (const int type : {-1, 13, 18, static_cast<int>(HCCL_DATA_TYPE_RESERVED)}) {
    EXPECT_EQ(type_name(type), "unknown");
    EXPECT_EQ(type_size(type), 0u);
    EXPECT_FALSE(reducible(type));
  }
}

TEST(Names, ReductionsHaveNames) {
  EXPECT_EQ(op_name(HCCL_REDUCE_SUM), "sum");
  EXPECT_EQ(op_name(HCCL_REDUCE_PROD), "prod");
  EXPECT_EQ(op_name(HCCL_REDUCE_MAX), "max");
  EXPECT_EQ(op_name(HCCL_REDUCE_MIN), "min");
  EXPECT_EQ(op_name(HCCL_REDUCE_RESERVED), "unknown");
  EXPECT_EQ(op_name(-1), "unknown");
}

TEST(Names, ReductionsAreParsed) {
  EXPECT_EQ(parse_reduce_op("sum"), HCCL_REDUCE_SUM);
  EXPECT_EQ(parse_reduce_op("prod"), HCCL_REDUCE_PROD);
  EXPECT_EQ(parse_reduce_op("max"), HCCL_REDUCE_MAX);
  EXPECT_EQ(parse_reduce_op("min"), HCCL_REDUCE_MIN);
}

TEST(Names, AStringThatIsNoNameIsNotParsed) {
  for (const std::string_view name : {""sv, "FP32"sv, "fp3"sv, "fp32 "sv, "unknown"sv}) {
    EXPECT_FALSE(parse_type(name).has_value()) << name;
    EXPECT_FALSE(parse_reduce_op(name).has_value()) << name;
  }
}

TEST(Names, TheNearestNameIsFoundForASlip) {
  constexpr std::array kKnown = {"all_reduce"sv, "all_gather"sv, "reduce_scatter"sv, "mesh"sv};
  EXPECT_EQ(nearest("all_redcue", kKnown), "all_reduce");
  EXPECT_EQ(nearest("allgather", kKnown), "all_gather");
  EXPECT_EQ(nearest("reduce-scater", kKnown), "reduce_scatter");
  EXPECT_EQ(nearest("mehs", kKnown), "mesh");
  EXPECT_EQ(nearest("mesh", kKnown), "mesh");
}

TEST(Names, TheFirstOfEquallyNearNamesIsTaken) {
  constexpr std::array kKnown = {"int16"sv, "int32"sv, "int64"sv};
  EXPECT_EQ(nearest("int34", kKnown), "int32");
  EXPECT_EQ(nearest("int", kKnown), "int16");
}

TEST(Names, NothingIsNearAnotherWord) {
  constexpr std::array kKnown = {"all_reduce"sv, "mesh"sv};
  EXPECT_EQ(nearest("bandwidth", kKnown), "");
  EXPECT_EQ(nearest("", kKnown), "");
  EXPECT_EQ(nearest("mesh", {}), "");
}

}  // namespace
}  // namespace weft
