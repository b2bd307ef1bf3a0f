// SPDX-License-Identifier: Apache-2.0
// Collectives and messages that own their buffers, for tests that have many on their way at once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "buffers.hpp"
#include "cases.hpp"
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

/// One end of a message of int32 from one rank to another; `number` tells those of the same pair
/// apart.
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

/// A collective, equal on all ranks.
struct SampleCase {
  Op what = Op::kAllReduce;
  uint64_t count = 1;
  uint32_t number = 0;  // makes type, reduction and root different
};
inline constexpr uint32_t kCollectives = 11;      // all of Op
inline constexpr uint32_t kFirstWithLengths = 7;  // of Op: from here on the V operators

/// One collective of one rank, with its buffers in memory of the current device.
class Sample {
 public:
  Sample(const SampleCase& c, uint32_t rank, uint32_t ranks);

  void run(HcclComm comm, aclrtStream stream) const { trial_.run(comm, stream); }
  /// Fails the rank if anything is not as it must be.
  void verify() const { trial_.verify(); }

 private:
  Sample(const Case& c, uint32_t rank, uint32_t ranks);

  std::unique_ptr<Arena> send_;
  std::unique_ptr<Arena> recv_;
  Trial trial_;
};

}  // namespace weft::test
