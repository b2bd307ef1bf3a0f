// SPDX-License-Identifier: Apache-2.0
// What is to be measured, and the geometry of one size of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hccl/hccl_types.h"
#include "weft/abi.h"

namespace weft::tools {

struct Spec {
  uint32_t op = WEFT_OP_ALL_REDUCE;
  uint32_t ranks = 1;
  uint32_t devices = 8;  // that can be seen
  uint64_t begin = 8;    // bytes
  uint64_t end = uint64_t{64} << 20;
  uint64_t factor = 4;
  HcclDataType type = HCCL_DATA_TYPE_FP32;
  HcclReduceOp reduce_op = HCCL_REDUCE_SUM;
  uint32_t root = 0;
  bool threads = false;  // ranks are threads of one process
  bool malloc_memory = false;
  bool in_place = false;
  bool check = true;
  uint64_t iterations = 0;  // timed calls of a size; 0: as many as min_time needs
  std::chrono::nanoseconds min_time{300'000'000};
  std::chrono::nanoseconds timeout{120'000'000'000};  // without progress
};

/// One row of the table. Elements are of spec.type.
struct Shape {
  uint64_t count = 0;          // the argument of the HCCL call
  uint64_t send_elements = 0;  // of one rank's buffers
  uint64_t receive_elements = 0;
  uint64_t bytes = 0;  // of the larger of the two
};

size_t element_size(const Spec& spec);

/// The shapes of all rows, growing. A size that is not a whole number of elements or of blocks is
/// rounded down to one, at least one element to a block; equal rows are merged.
std::vector<Shape> shapes(const Spec& spec);

/// Bus bandwidth / algorithm bandwidth: the share of the bytes that has to cross between ranks,
/// so that numbers of different operations and ranks can be compared.
double bus_factor(const Spec& spec);

}  // namespace weft::tools
