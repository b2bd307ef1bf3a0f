// SPDX-License-Identifier: Apache-2.0
// Calls of the 14 operators whose arguments can be spoiled one by one.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "buffers.hpp"
#include "ranks.hpp"
#include "values.hpp"

namespace weft::test {

inline constexpr uint64_t kMaxCount = 0x7FFFFFFFF;

enum class Function {
  kAllReduce,
  kBroadcast,
  kReduceScatter,
  kAllGather,
  kReduce,
  kScatter,
  kSend,
  kRecv,
  kAllToAll,
  kAllGatherV,
  kReduceScatterV,
  kAllToAllV,
  kAllToAllVC,
  kBatchSendRecv
};
std::vector<Function> all_functions();
/// Those with one count, which all check in the same order.
std::vector<Function> counted_functions();
std::vector<Function> reducing_functions();
void PrintTo(Function function, std::ostream* out);
std::string test_name(const testing::TestParamInfo<Function>& given);

/// A rank with a communicator, a stream, buffers and arrays: 4 elements in every block.
struct Fixture {
  explicit Fixture(Rank& rank);
  ~Fixture() { HcclCommDestroy(comm); }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  uint32_t ranks;
  HcclComm comm;
  const Stream stream;
  Arena bytes{Memory::kDevice, 512};
  std::byte* send;
  std::byte* recv;
  std::vector<uint64_t> counts;
  std::vector<uint64_t> displacements;
  std::vector<uint64_t> matrix;
  std::vector<HcclSendRecvItem> items;  // to itself and from itself
};

/// Runs `body` as a group of one rank.
void with_fixture(const std::function<void(const Fixture&)>& body);

/// One call with all its arguments, good to begin with; an operator looks at its own.
struct Arguments {
  explicit Arguments(const Fixture& f);

  void* send;
  void* recv;
  uint64_t count = 4;
  uint64_t recv_count = 4;  // AlltoAll
  HcclDataType type = HCCL_DATA_TYPE_FP32;
  HcclDataType recv_type = HCCL_DATA_TYPE_FP32;  // AlltoAll, AlltoAllV, AlltoAllVC
  HcclReduceOp op = HCCL_REDUCE_SUM;
  uint32_t root = 0;  // or the peer
  void* comm;
  void* stream;
  void* send_counts;
  void* send_displacements;
  void* recv_counts;
  void* recv_displacements;
  void* matrix;
  void* items;
  uint32_t item_num = 2;
};

HcclResult call(Function function, const Arguments& a);

/// A pointer among the arguments, by the name that it has in the prototype.
struct Pointer {
  std::string name;
  void* Arguments::*value;
};

/// What the errors of an operator call things.
struct Names {
  std::string function;
  std::string count;
  std::vector<Pointer> pointers;  // in the order in which they are looked at
  std::vector<Pointer> buffers;   // looked at later, if their own counts are not zero
};
Names names_of(Function function);

}  // namespace weft::test
