// SPDX-License-Identifier: Apache-2.0
// Many different calls on their way at once, in the fewest lines: each sample is one collective or
// one end of a message, of int32, with buffers of its own and its result known. For tests of order
// and concurrency; what one operator can do in all its forms is tested elsewhere.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "buffers.hpp"
#include "ranks.hpp"

namespace weft::test {

/// Memory of the device that was current, freed with it.
class Words {
 public:
  explicit Words(uint64_t count, Memory kind = Memory::kDevice);

  int32_t* data() const { return data_; }
  uint64_t count() const { return count_; }
  /// Puts an unusual value into all of them.
  void clear();
  /// Fails the rank if something wrote around them.
  void check_guards() const {
    check(!arena_->guards_broken(), "bytes around a buffer were written");
  }

 private:
  std::unique_ptr<Arena> arena_;
  int32_t* data_;
  uint64_t count_;
};

/// A message from one rank to another; `number` tells those of the same pair apart.
class Parcel {
 public:
  Parcel(uint64_t count, Memory kind = Memory::kDevice) : words_(count, kind) { words_.clear(); }

  int32_t* data() const { return words_.data(); }
  uint64_t count() const { return words_.count(); }
  /// As the sender does.
  void pack(uint32_t from, uint32_t to, uint32_t number);
  /// As the receiver does. Fails the rank if it is another one.
  void check_is(uint32_t from, uint32_t to, uint32_t number) const;

  void send(uint32_t to, HcclComm comm, aclrtStream stream) const;
  void receive(uint32_t from, HcclComm comm, aclrtStream stream) const;
  /// For HcclBatchSendRecv.
  HcclSendRecvItem item(HcclSendRecvType kind, uint32_t peer) const;

 private:
  Words words_;
};

enum class Collective {
  kAllReduce,
  kBroadcast,
  kReduce,
  kScatter,
  kReduceScatter,
  kAllGather,
  kAllToAll,
  kAllGatherV,
  kReduceScatterV,
  kAllToAllV,
  kAllToAllVC
};
inline constexpr uint32_t kCollectives = 11;
inline constexpr uint32_t kFirstWithLengths = 7;
std::string name_of(Collective what);

/// Equal on all ranks.
struct SampleCase {
  Collective what = Collective::kAllReduce;
  uint64_t count = 1;   // elements of a block, about
  uint32_t number = 0;  // makes the data, the root and the lengths different
};

/// One collective of one rank. Operators with lengths have blocks of none, gaps between blocks.
class Sample {
 public:
  Sample(const SampleCase& c, uint32_t rank, uint32_t ranks);

  HcclResult issue(HcclComm comm, aclrtStream stream) const;
  /// Fails the rank if anything in the output, gaps included, is not as it must be.
  void verify() const;

 private:
  uint32_t root() const { return case_.number % ranks_; }
  uint64_t length(uint32_t from, uint32_t to) const;
  /// Blocks that `rank` has of the lengths l(0), l(1) ..: where they begin, and the end at last.
  template <class Length>
  std::vector<uint64_t> places(const Length& length) const;
  std::vector<uint64_t> sent_places(uint32_t rank) const;

  int32_t given(uint32_t rank, uint64_t index) const;
  int32_t sum(uint64_t index) const;
  void make_lengths();
  uint64_t in_count() const;
  uint64_t out_count() const;
  void expect();

  const SampleCase case_;
  const uint32_t rank_;
  const uint32_t ranks_;
  std::vector<uint64_t> in_counts_;
  std::vector<uint64_t> in_places_;
  std::vector<uint64_t> out_counts_;
  std::vector<uint64_t> out_places_;
  std::vector<uint64_t> matrix_;
  Words in_;
  Words out_;
  std::vector<int32_t> expected_;
};

}  // namespace weft::test
