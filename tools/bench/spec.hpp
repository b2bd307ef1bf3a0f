// SPDX-License-Identifier: Apache-2.0
// What is to be measured, and its sizes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/memory.hpp"
#include "bench/op.hpp"
#include "hccl/hccl_types.h"

namespace weft::tools {

struct Spec {
  Op op = Op::kAllReduce;
  uint32_t ranks = 1;
  uint32_t devices = 8;  // that can be seen
  uint64_t begin = 8;    // bytes
  uint64_t end = uint64_t{64} << 20;
  uint64_t factor = 4;
  std::vector<uint64_t> sizes;  // growing, instead of these three; empty: not
  HcclDataType type = HCCL_DATA_TYPE_FP32;
  HcclReduceOp reduce_op = HCCL_REDUCE_SUM;
  uint32_t root = 0;
  bool threads = false;  // ranks are threads of one process
  bool bind = false;     // each rank to a core of its own, as far as there are enough
  bool loose = false;    // not even if each has a core: see place_ranks()
  MemoryKind memory = MemoryKind::kHeap;
  bool in_place = false;
  bool check = true;
  bool limit = false;     // beside each batch one of the hand-written loop
  bool overlap = false;   // once more while the host computes
  bool explain = false;   // one call, of which every rank tells how it was carried out
  bool creation = false;  // no call: `iterations` communicators are made
  // Policy files of the arms that are compared: of two by pairs of blocks, of more in a race.
  // `iterations` calls of each at a size at most, or about `time` for all sizes together.
  std::vector<std::string> arms;
  bool race = false;
  std::chrono::nanoseconds time{0};
  double error = 0.03;      // probability to call one of two equal arms the faster
  uint64_t queue = 1;       // calls between two synchronisations of the stream
  uint64_t iterations = 0;  // timed calls of a size; 0: as many as min_time needs
  std::chrono::nanoseconds min_time{300'000'000};
  std::chrono::nanoseconds timeout{120'000'000'000};  // without progress
};

/// One row of the table. Elements are of spec.type.
struct Shape {
  /// Elements of a block, the argument of the HCCL call; of all blocks if they are uneven.
  uint64_t count = 0;
  /// Of the larger buffer of the rank with the largest one, gaps not counted.
  uint64_t bytes = 0;
};

size_t element_size(const Spec& spec);

/// The shapes of all rows, growing. A size that is not a whole number of elements, or of equal
/// blocks, is rounded down to one, at least one element to a block; equal rows are merged.
std::vector<Shape> shapes(const Spec& spec);

/// Of spec.op among spec.ranks.
double bus_factor(const Spec& spec);

/// Messages that follow one another in a call, each as long as the time that is reported: 2 for
/// send_recv of two ranks, where one call is a ping and a pong.
double trips(const Spec& spec);

}  // namespace weft::tools
