// SPDX-License-Identifier: Apache-2.0
// One call of an operator, with everything about it checked: result, inputs, guard bytes.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "buffers.hpp"
#include "ranks.hpp"
#include "values.hpp"

namespace weft::test {

enum class Op { kAllReduce, kBroadcast, kReduceScatter, kAllGather, kAllToAll };
std::string name_of(Op op);
inline bool reduces(Op op) { return op == Op::kAllReduce || op == Op::kReduceScatter; }

/// Which buffers are the same.
enum class Place {
  kApart,
  kSame,    // recvBuf is sendBuf: AllReduce, ReduceScatter
  kOwnSlot  // the smaller buffer is the rank's block of the larger one: ReduceScatter, AllGather
};

/// Equal on all ranks, apart from the memory.
struct Case {
  Op op = Op::kAllReduce;
  HcclDataType type = HCCL_DATA_TYPE_FP32;
  HcclReduceOp reduce = HCCL_REDUCE_SUM;
  uint64_t count = 1;
  Place place = Place::kApart;
  uint32_t root = 0;
  Memory send = Memory::kDevice;
  Memory recv = Memory::kDevice;
  bool rough = false;  // floats whose results need rounding
};
std::string describe(const Case& c);

/// Blocks of `count` elements in the buffers.
uint32_t send_blocks(Op op, uint32_t ranks);
uint32_t recv_blocks(Op op, uint32_t ranks);

/// Puts one call on a stream.
HcclResult issue(const Case& c, const std::byte* send, std::byte* recv, HcclComm comm,
                 aclrtStream stream);

/// A case with its buffers, from before the call until after the synchronisation.
class Trial {
 public:
  Trial(const Case& c, uint32_t rank, uint32_t ranks, Arena& send, Arena& recv);

  void run(HcclComm comm, aclrtStream stream) const;
  /// Fails the rank if anything is not as it must be.
  void verify() const;

 private:
  void verify_output() const;
  void verify_block(const std::byte* data, const Pattern& good, uint64_t first) const;
  void verify_input() const;

  const Case case_;
  const uint32_t rank_;
  const uint32_t ranks_;
  const uint64_t block_bytes_;
  Arena& send_arena_;
  Arena& recv_arena_;
  std::byte* send_ = nullptr;
  std::byte* recv_ = nullptr;
};

/// Runs cases one after the other, with arenas of every kind of memory.
class Runner {
 public:
  /// `capacity`: of the largest buffer, in bytes.
  Runner(Rank& rank, size_t capacity);

  /// Collective. Checks that `algorithm` did the work, unless there is one rank only.
  void run(HcclComm comm, const Case& c, const std::string& algorithm);

 private:
  Arena& arena(std::map<Memory, std::unique_ptr<Arena>>& arenas, Memory kind) const;

  Rank& rank_;
  const size_t capacity_;
  Stream stream_;
  std::map<Memory, std::unique_ptr<Arena>> send_;
  std::map<Memory, std::unique_ptr<Arena>> recv_;
};

std::string comm_name(HcclComm comm);

/// One small call that all ranks make: the sum of an int32, 1 from each.
void expect_working(HcclComm comm, uint32_t ranks);

/// The algorithm that the last call on a communicator used, and into how many pieces it was cut.
struct CallFacts {
  std::string algorithm;
  std::string source;
  uint32_t pieces = 0;
  bool staged_in = false;
  bool staged_out = false;
};
CallFacts last_call(HcclComm comm);

}  // namespace weft::test
