// SPDX-License-Identifier: Apache-2.0
// What a call would do, told from the policy and the algorithms alone: no ranks, no device.
#pragma once

#include <cstdint>
#include <string>

#include "hccl/hccl_types.h"

namespace weft::tools {

/// A call that nobody makes.
struct PlannedCall {
  std::string op;
  uint64_t bytes = uint64_t{1} << 20;  // of the larger buffer of a rank
  uint32_t ranks = 0;
  uint32_t hosts = 1;
  HcclDataType type = HCCL_DATA_TYPE_FP32;
  HcclReduceOp reduce_op = HCCL_REDUCE_SUM;
  bool reduction_given = false;
  uint32_t root = 0;
  bool root_given = false;
  bool deterministic = false;
  std::string name;       // of the communicator
  std::string hccl_algo;  // hcclAlgo of its configuration
  std::string policy;     // a file; empty: the one that a program would read
  bool steps = false;     // list the steps of `of_rank`
  uint32_t of_rank = 0;
};

/// More are told nothing about: all of them are asked for their schedules.
inline constexpr uint32_t kMostPlannedRanks = 1024;

/// Prints it. Throws UsageError, Error and Failure.
void explain_plan(const PlannedCall& call);

}  // namespace weft::tools
