// SPDX-License-Identifier: Apache-2.0
#include "samples.hpp"

#include <cstring>
#include <iterator>
#include <string>

namespace weft::test {
namespace {

constexpr int32_t kUntouched = -0x35014542;

int32_t word(uint32_t a, uint32_t b, uint32_t c, uint64_t index) {
  return static_cast<int32_t>(a * 1000003U + b * 7919U + c * 104729U +
                              static_cast<uint32_t>(index) * 31U);
}

}  // namespace

Words::Words(uint64_t count, Memory kind)
    : arena_(std::make_unique<Arena>(kind, count * sizeof(int32_t))),
      data_(reinterpret_cast<int32_t*>(arena_->lend(count * sizeof(int32_t)))),
      count_(count) {}

void Words::clear() {
  for (uint64_t i = 0; i < count_; ++i) std::memcpy(data_ + i, &kUntouched, sizeof kUntouched);
}

// The memory may be unaligned.

void Parcel::pack(uint32_t from, uint32_t to, uint32_t number) {
  for (uint64_t i = 0; i < count(); ++i) {
    const int32_t value = word(from, to, number, i);
    std::memcpy(data() + i, &value, sizeof value);
  }
}

void Parcel::check_is(uint32_t from, uint32_t to, uint32_t number) const {
  words_.check_guards();
  for (uint64_t i = 0; i < count(); ++i) {
    int32_t value = 0;
    std::memcpy(&value, data() + i, sizeof value);
    if (value == word(from, to, number, i)) continue;
    check(false, "word " + std::to_string(i) + " of message " + std::to_string(number) +
                     " from rank " + std::to_string(from) + " to " + std::to_string(to) + " is " +
                     std::to_string(value));
  }
}

void Parcel::send(uint32_t to, HcclComm comm, aclrtStream stream) const {
  ok(HcclSend(data(), count(), HCCL_DATA_TYPE_INT32, to, comm, stream));
}

void Parcel::receive(uint32_t from, HcclComm comm, aclrtStream stream) const {
  ok(HcclRecv(data(), count(), HCCL_DATA_TYPE_INT32, from, comm, stream));
}

HcclSendRecvItem Parcel::item(HcclSendRecvType kind, uint32_t peer) const {
  return {kind, data(), count(), HCCL_DATA_TYPE_INT32, peer};
}

Sample::Sample(const Case& c, uint32_t rank, uint32_t ranks)
    : send_(std::make_unique<Arena>(c.send, most_elements(c, ranks) * size_of(c.type))),
      recv_(std::make_unique<Arena>(c.recv, most_elements(c, ranks) * size_of(c.type))),
      trial_(c, rank, ranks, *send_, *recv_) {}

Sample::Sample(const SampleCase& c, uint32_t rank, uint32_t ranks)
    : Sample(Case{.op = c.what,
                  .type = reducible_types()[c.number % reducible_types().size()],
                  .reduce = reduce_ops()[c.number % reduce_ops().size()],
                  .count = c.count,
                  .root = c.number % ranks},
             rank, ranks) {}

}  // namespace weft::test
