// SPDX-License-Identifier: Apache-2.0
#include "samples.hpp"

#include <algorithm>

namespace weft::test {
namespace {

constexpr int32_t kUntouched = -0x35014542;
constexpr uint64_t kGap = 2;  // elements between blocks

int32_t word(uint32_t a, uint32_t b, uint32_t c, uint64_t index) {
  return static_cast<int32_t>(a * 1000003U + b * 7919U + c * 104729U +
                              static_cast<uint32_t>(index) * 31U);
}

}  // namespace

Words::Words(uint64_t count, Memory kind)
    : arena_(std::make_unique<Arena>(kind, count * sizeof(int32_t))),
      data_(reinterpret_cast<int32_t*>(arena_->lend(count * sizeof(int32_t)))),
      count_(count) {}

void Words::clear() { std::fill_n(data_, count_, kUntouched); }

void Parcel::pack(uint32_t from, uint32_t to, uint32_t number) {
  for (uint64_t i = 0; i < count(); ++i) data()[i] = word(from, to, number, i);
}

void Parcel::check_is(uint32_t from, uint32_t to, uint32_t number) const {
  words_.check_guards();
  for (uint64_t i = 0; i < count(); ++i) {
    if (data()[i] == word(from, to, number, i)) continue;
    check(false, "word " + std::to_string(i) + " of message " + std::to_string(number) +
                     " from rank " + std::to_string(from) + " to " + std::to_string(to) + " is " +
                     std::to_string(data()[i]));
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

std::string name_of(Collective what) {
  static constexpr const char* kNames[] = {
      "HcclAllReduce",      "HcclBroadcast", "HcclReduce",    "HcclScatter",
      "HcclReduceScatter",  "HcclAllGather", "HcclAlltoAll",  "HcclAllGatherV",
      "HcclReduceScatterV", "HcclAlltoAllV", "HcclAlltoAllVC"};
  return kNames[static_cast<int>(what)];
}

Sample::Sample(const SampleCase& c, uint32_t rank, uint32_t ranks)
    : case_(c),
      rank_(rank),
      ranks_(ranks),
      in_((make_lengths(), in_count())),
      out_(out_count()),
      expected_(out_count(), kUntouched) {
  for (uint64_t i = 0; i < in_.count(); ++i) in_.data()[i] = given(rank, i);
  out_.clear();
  expect();
  if (c.what == Collective::kBroadcast && rank == root()) {
    std::copy(expected_.begin(), expected_.end(), out_.data());
  }
}

int32_t Sample::given(uint32_t rank, uint64_t index) const {
  return word(rank, case_.number, static_cast<uint32_t>(case_.what), index);
}

int32_t Sample::sum(uint64_t index) const {
  uint32_t sum = 0;
  for (uint32_t r = 0; r < ranks_; ++r) sum += static_cast<uint32_t>(given(r, index));
  return static_cast<int32_t>(sum);
}

/// Of the block that goes from one rank to another; where only one of them matters both are given
/// as that one.
uint64_t Sample::length(uint32_t from, uint32_t to) const {
  return (from + 2 * to + case_.number) % 4 == 1 ? 0 : case_.count + from + to;
}

template <class Length>
std::vector<uint64_t> Sample::places(const Length& length) const {
  const uint64_t gap = case_.what == Collective::kAllToAllVC ? 0 : kGap;
  std::vector<uint64_t> places{gap};
  for (uint32_t i = 0; i < ranks_; ++i) places.push_back(places.back() + length(i) + gap);
  return places;
}

std::vector<uint64_t> Sample::sent_places(uint32_t rank) const {
  return places([&](uint32_t to) { return length(rank, to); });
}

void Sample::make_lengths() {
  const bool pairs = case_.what == Collective::kAllToAllV || case_.what == Collective::kAllToAllVC;
  for (uint32_t i = 0; i < ranks_; ++i) {
    in_counts_.push_back(pairs ? length(rank_, i) : length(i, i));
    out_counts_.push_back(pairs ? length(i, rank_) : length(i, i));
    for (uint32_t j = 0; j < ranks_; ++j) matrix_.push_back(length(i, j));
  }
  in_places_ = places([&](uint32_t i) { return in_counts_[i]; });
  out_places_ = places([&](uint32_t i) { return out_counts_[i]; });
}

uint64_t Sample::in_count() const {
  switch (case_.what) {
    case Collective::kScatter:
    case Collective::kReduceScatter:
    case Collective::kAllToAll:
      return ranks_ * case_.count;
    case Collective::kAllGatherV:
      return length(rank_, rank_);
    case Collective::kReduceScatterV:
    case Collective::kAllToAllV:
    case Collective::kAllToAllVC:
      return in_places_.back();
    default:
      return case_.count;
  }
}

uint64_t Sample::out_count() const {
  switch (case_.what) {
    case Collective::kAllGather:
    case Collective::kAllToAll:
      return ranks_ * case_.count;
    case Collective::kReduceScatterV:
      return length(rank_, rank_);
    case Collective::kAllGatherV:
    case Collective::kAllToAllV:
    case Collective::kAllToAllVC:
      return out_places_.back();
    default:
      return case_.count;
  }
}

HcclResult Sample::issue(HcclComm comm, aclrtStream stream) const {
  constexpr HcclDataType kType = HCCL_DATA_TYPE_INT32;
  constexpr HcclReduceOp kSum = HCCL_REDUCE_SUM;
  const uint64_t n = case_.count;
  int32_t* in = in_.data();
  int32_t* out = out_.data();
  switch (case_.what) {
    case Collective::kAllReduce:
      return HcclAllReduce(in, out, n, kType, kSum, comm, stream);
    case Collective::kBroadcast:
      return HcclBroadcast(out, n, kType, root(), comm, stream);
    case Collective::kReduce:
      return HcclReduce(in, out, n, kType, kSum, root(), comm, stream);
    case Collective::kScatter:
      return HcclScatter(rank_ == root() ? in : nullptr, out, n, kType, root(), comm, stream);
    case Collective::kReduceScatter:
      return HcclReduceScatter(in, out, n, kType, kSum, comm, stream);
    case Collective::kAllGather:
      return HcclAllGather(in, out, n, kType, comm, stream);
    case Collective::kAllToAll:
      return HcclAlltoAll(in, n, kType, out, n, kType, comm, stream);
    case Collective::kAllGatherV:
      return HcclAllGatherV(in, in_.count(), out, out_counts_.data(), out_places_.data(), kType,
                            comm, stream);
    case Collective::kReduceScatterV:
      return HcclReduceScatterV(in, in_counts_.data(), in_places_.data(), out, out_.count(), kType,
                                kSum, comm, stream);
    case Collective::kAllToAllV:
      return HcclAlltoAllV(in, in_counts_.data(), in_places_.data(), kType, out, out_counts_.data(),
                           out_places_.data(), kType, comm, stream);
    default:
      return HcclAlltoAllVC(in, matrix_.data(), kType, out, kType, comm, stream);
  }
}

void Sample::expect() {
  const uint64_t n = case_.count;
  const uint64_t own = rank_ * n;
  const auto fill = [&](uint64_t at, uint64_t count, const auto& value) {
    for (uint64_t i = 0; i < count; ++i) expected_[at + i] = value(i);
  };
  for (uint32_t r = 0; r < ranks_; ++r) {
    switch (case_.what) {
      case Collective::kAllGather:
        fill(r * n, n, [&](uint64_t i) { return given(r, i); });
        break;
      case Collective::kAllToAll:
        fill(r * n, n, [&](uint64_t i) { return given(r, own + i); });
        break;
      case Collective::kAllGatherV:
        fill(out_places_[r], out_counts_[r], [&](uint64_t i) { return given(r, i); });
        break;
      case Collective::kAllToAllV:
      case Collective::kAllToAllVC: {
        const uint64_t place = sent_places(r)[rank_];
        fill(out_places_[r], out_counts_[r], [&](uint64_t i) { return given(r, place + i); });
        break;
      }
      default:
        break;
    }
  }
  switch (case_.what) {
    case Collective::kAllReduce:
      return fill(0, n, [&](uint64_t i) { return sum(i); });
    case Collective::kBroadcast:
      return fill(0, n, [&](uint64_t i) { return given(root(), i); });
    case Collective::kReduce:
      return fill(0, rank_ == root() ? n : 0, [&](uint64_t i) { return sum(i); });
    case Collective::kScatter:
      return fill(0, n, [&](uint64_t i) { return given(root(), own + i); });
    case Collective::kReduceScatter:
      return fill(0, n, [&](uint64_t i) { return sum(own + i); });
    case Collective::kReduceScatterV:
      return fill(0, out_.count(), [&](uint64_t i) { return sum(in_places_[rank_] + i); });
    default:
      return;
  }
}

void Sample::verify() const {
  in_.check_guards();
  out_.check_guards();
  const auto wrong = std::mismatch(expected_.begin(), expected_.end(), out_.data());
  if (wrong.first == expected_.end()) return;
  check(false, name_of(case_.what) + " number " + std::to_string(case_.number) + " of " +
                   std::to_string(case_.count) + ": element " +
                   std::to_string(wrong.first - expected_.begin()) + " of recvBuf is " +
                   std::to_string(*wrong.second) + ", not " + std::to_string(*wrong.first));
}

}  // namespace weft::test
