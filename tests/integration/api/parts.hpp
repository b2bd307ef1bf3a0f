// SPDX-License-Identifier: Apache-2.0
// One call of an operator as a value, and what lies where in its buffers: everything as a plain
// function of (case, rank, ranks).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "buffers.hpp"
#include "values.hpp"

namespace weft::test {

enum class Op {
  kAllReduce,
  kBroadcast,
  kReduceScatter,
  kAllGather,
  kAllToAll,
  kReduce,
  kScatter,
  kAllGatherV,
  kReduceScatterV,
  kAllToAllV,
  kAllToAllVC
};
std::string name_of(Op op);
/// The operation of the policy that does it.
std::string operation_of(Op op);
bool reduces(Op op);
bool has_root(Op op);
/// Blocks of different lengths.
bool is_v(Op op);

/// Which buffers are the same.
enum class Place {
  kApart,
  kSame,    // recvBuf is sendBuf: AllReduce, Reduce, ReduceScatter, and on root of Scatter
  kOwnSlot  // the smaller buffer is the rank's block of the larger one: ReduceScatter, AllGather,
            // and on root of Scatter
};

/// Equal on all ranks, apart from the memory.
struct Case {
  Op op = Op::kAllReduce;
  HcclDataType type = HCCL_DATA_TYPE_FP32;
  HcclReduceOp reduce = HCCL_REDUCE_SUM;
  uint64_t count = 1;  // of a V operator: the lengths of its blocks are made of it
  Place place = Place::kApart;
  uint32_t root = 0;
  Memory send = Memory::kDevice;
  Memory recv = Memory::kDevice;
  bool rough = false;  // floats whose results need rounding
  bool null = false;   // NULL is passed for a buffer that may be NULL
};
std::string describe(const Case& c);

/// A run of elements of a buffer, and the part of a sequence that it holds.
struct Part {
  uint64_t at;  // element of the buffer
  uint64_t count;
  const Pattern* pattern;
  uint64_t first;  // element of the pattern
};

/// The two buffers of one rank: their sizes in elements, and what sendBuf holds before the call and
/// recvBuf after it. Between the parts nobody may write.
struct Buffers {
  uint64_t send_size = 0;
  uint64_t recv_size = 0;
  std::vector<Part> send;
  std::vector<Part> recv;
};
Buffers buffers_of(const Case& c, uint32_t rank, uint32_t ranks);

/// The arrays of a V operator. Their lifetime is the caller's: a group reads them at its end.
struct Arrays {
  std::vector<uint64_t> send_counts;
  std::vector<uint64_t> send_at;
  std::vector<uint64_t> recv_counts;
  std::vector<uint64_t> recv_at;
  std::vector<uint64_t> matrix;  // AlltoAllVC
  uint64_t own = 0;              // sendCount of AllGatherV, recvCount of ReduceScatterV
};
Arrays arrays_of(const Case& c, uint32_t rank, uint32_t ranks);

/// No buffer of the case has more elements, on any rank.
uint64_t most_elements(const Case& c, uint32_t ranks);

}  // namespace weft::test
