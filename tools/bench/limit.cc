// SPDX-License-Identifier: Apache-2.0
#include "bench/limit.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "exec/relax.hpp"
#include "kernels/kernels.hpp"
#include "process.hpp"

namespace weft::tools {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kShort = 1024;  // bytes of a block that travels through a slot

constexpr uint32_t kArea = 0;  // what a rank shows to the others
constexpr uint32_t kSend = 1;
constexpr uint32_t kReceive = 2;

}  // namespace

// What the peers of a rank write to. By parity of the round: nobody is more than one round ahead of
// another, or waits for it.
struct Limit::Area {
  // Written by one rank, read by one: a counter, and the data of short calls.
  struct alignas(64) Line {
    std::atomic<uint64_t> round;
    std::byte data[56];
  };
  Line lines[2][kMostRanks];
  std::byte slots[2][kMostRanks][kShort];
};

bool Limit::offers(Op op) {
  switch (op) {
    case Op::kAllReduce:
    case Op::kReduce:
    case Op::kReduceScatter:
    case Op::kAllGather:
    case Op::kAllToAll:
    case Op::kBroadcast:
    case Op::kScatter:
      return true;
    default:
      return false;
  }
}

Limit::Limit(const Spec& spec, Team& team, uint32_t rank, std::byte* send, std::byte* receive,
             uint64_t bytes, Fail fail)
    : spec_(spec),
      team_(team),
      rank_(rank),
      fail_(std::move(fail)),
      yields_(spec.ranks > uint32_t(usable_cores())),
      element_(element_size(spec)),
      places_(spec.ranks),
      destinations_(spec.ranks),
      sources_(spec.ranks) {
  void* memory = nullptr;
  need("aclrtMalloc", aclrtMalloc(&memory, sizeof(Area), ACL_MEM_MALLOC_HUGE_FIRST));
  std::memset(memory, 0, sizeof(Area));
  area_ = static_cast<Area*>(memory);
  show(kArea, reinterpret_cast<std::byte*>(area_), sizeof(Area));
  show(kSend, send, bytes);
  show(kReceive, receive, bytes);
  team_.barrier();
  for (uint32_t peer = 0; peer < spec.ranks; ++peer) {
    places_[peer].area = reinterpret_cast<Area*>(find(peer, kArea));
    places_[peer].send = find(peer, kSend);
    places_[peer].receive = find(peer, kReceive);
  }
  places_[rank] = {area_, send, receive};
  team_.barrier();
}

Limit::~Limit() {
  team_.barrier();
  for (auto key = keys_.rbegin(); key != keys_.rend(); ++key) aclrtIpcMemClose(key->c_str());
  team_.barrier();
  aclrtFree(area_);
}

/// Shows memory of this rank to the others.
void Limit::show(uint32_t index, std::byte* address, uint64_t bytes) {
  Offer& offer = team_.offer(rank_, index);
  offer = {};
  offer.process = getpid();
  offer.address = reinterpret_cast<uint64_t>(address);
  if (address == nullptr || spec_.threads || spec_.ranks == 1) return;
  const uint64_t begin = offer.address / kPage * kPage;
  const uint64_t end = (offer.address + bytes + kPage - 1) / kPage * kPage;
  offer.offset = offer.address - begin;
  need(
      "aclrtIpcMemGetExportKey",
      aclrtIpcMemGetExportKey(reinterpret_cast<void*>(begin), end - begin, offer.key,
                              sizeof offer.key, ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION));
  keys_.emplace_back(offer.key);
}

std::byte* Limit::find(uint32_t peer, uint32_t index) {
  const Offer& offer = team_.offer(peer, index);
  if (peer == rank_ || offer.address == 0) return nullptr;
  if (offer.process == getpid()) return reinterpret_cast<std::byte*>(offer.address);
  void* base = nullptr;
  need("aclrtIpcMemImportByKey",
       aclrtIpcMemImportByKey(&base, offer.key, ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS));
  keys_.emplace_back(offer.key);
  return static_cast<std::byte*>(base) + offer.offset;
}

void Limit::begin(const Shape& shape, uint64_t send_at, uint64_t receive_at) {
  since_ = round_;
  count_ = shape.count;
  block_ = shape.count * element_;
  send_at_ = send_at;
  receive_at_ = receive_at;
  team_.barrier();
}

void Limit::call() {
  const bool brief = block_ <= kShort;
  switch (spec_.op) {
    case Op::kAllReduce:
      return brief ? exchange_short() : reduce_slices();
    case Op::kReduce:
      return brief ? to_root_short() : reduce_slices();
    case Op::kReduceScatter:
      return brief ? exchange_short() : reduce_blocks();
    case Op::kAllGather:
    case Op::kAllToAll:
      return brief ? exchange_short() : gather();
    default:
      return brief ? from_root_short() : from_root();
  }
}

void Limit::signal(uint32_t peer) {
  places_[peer].area->lines[round_ & 1][rank_].round.store(round_, std::memory_order_release);
}

void Limit::wait(uint32_t peer, uint64_t round) {
  const std::atomic<uint64_t>& flag = area_->lines[round & 1][peer].round;
  while (flag.load(std::memory_order_acquire) < round) {
    if (yields_) {
      sched_yield();
    } else {
      exec::relax();
    }
  }
}

void Limit::signal_all() {
  ++round_;
  for (uint32_t peer = 0; peer < spec_.ranks; ++peer) {
    if (peer != rank_) signal(peer);
  }
}

void Limit::wait_all() {
  for (uint32_t peer = 0; peer < spec_.ranks; ++peer) {
    if (peer != rank_) wait(peer, round_);
  }
}

/// Where a short block from one rank to another is in this round.
std::byte* Limit::slot(uint32_t owner, uint32_t from) const {
  Area& area = *places_[owner].area;
  Area::Line& line = area.lines[round_ & 1][from];
  return block_ <= sizeof line.data ? line.data : area.slots[round_ & 1][from];
}

void Limit::push(uint32_t peer, const std::byte* data) {
  std::memcpy(slot(peer, rank_), data, block_);
  signal(peer);
}

std::byte* Limit::send_of(uint32_t rank, uint64_t block) const {
  return places_[rank].send + send_at_ + block * block_;
}

std::byte* Limit::own_output(uint64_t block) const {
  return places_[rank_].receive + receive_at_ + block * block_;
}

void Limit::reduce(size_t destinations, uint64_t count) {
  kernels::reduce(destinations_.data(), destinations, sources_.data(), spec_.ranks, count,
                  spec_.type, spec_.reduce_op, spec_.ranks);
}

/// All-reduce and reduce: each rank sums a slice, whole cache lines, and writes it to all that want
/// it.
void Limit::reduce_slices() {
  signal_all();
  wait_all();
  const uint64_t line = 64 / element_;
  const uint64_t slice = (count_ / spec_.ranks + line) / line * line;
  const uint64_t first = std::min(rank_ * slice, count_);
  const uint64_t count = std::min(slice, count_ - first);
  for (uint32_t r = 0; r < spec_.ranks; ++r) {
    sources_[r] = send_of(r, 0) + first * element_;
    destinations_[r] = places_[r].receive + receive_at_ + first * element_;
  }
  const bool to_all = spec_.op == Op::kAllReduce;
  if (!to_all) destinations_[0] = places_[spec_.root].receive + receive_at_ + first * element_;
  if (count > 0) reduce(to_all ? spec_.ranks : 1, count);
  signal_all();
  wait_all();
}

void Limit::reduce_blocks() {
  signal_all();
  wait_all();
  for (uint32_t r = 0; r < spec_.ranks; ++r) sources_[r] = send_of(r, rank_);
  destinations_[0] = own_output(0);
  reduce(1, count_);
  signal_all();
  wait_all();
}

/// All-gather and all-to-all.
void Limit::gather() {
  signal_all();
  const uint64_t theirs = spec_.op == Op::kAllToAll ? rank_ : 0;
  kernels::copy(own_output(rank_), send_of(rank_, theirs), block_, spec_.ranks);
  for (uint32_t i = 1; i < spec_.ranks; ++i) {
    const uint32_t peer = (rank_ + i) % spec_.ranks;
    wait(peer, round_);
    kernels::copy(own_output(peer), send_of(peer, theirs), block_, spec_.ranks);
  }
  signal_all();
  wait_all();
}

/// Broadcast and scatter: everybody reads from the root.
void Limit::from_root() {
  const bool scatters = spec_.op == Op::kScatter;
  if (rank_ == spec_.root) {
    signal_all();
    if (scatters) kernels::copy(own_output(0), send_of(rank_, rank_), block_, spec_.ranks);
    ++round_;
    return wait_all();
  }
  wait(spec_.root, ++round_);
  kernels::copy(own_output(0), send_of(spec_.root, scatters ? rank_ : 0), block_, spec_.ranks);
  ++round_;
  signal(spec_.root);
}

/// Everybody sends to everybody, then puts together what came.
void Limit::exchange_short() {
  ++round_;
  const bool own_blocks = spec_.op == Op::kAllToAll || spec_.op == Op::kReduceScatter;
  for (uint32_t i = 1; i < spec_.ranks; ++i) {
    const uint32_t peer = (rank_ + i) % spec_.ranks;
    push(peer, send_of(rank_, own_blocks ? peer : 0));
  }
  const std::byte* mine = send_of(rank_, own_blocks ? rank_ : 0);
  wait_all();
  const bool reduces = facts(spec_.op).reduces();
  for (uint32_t r = 0; r < spec_.ranks; ++r) {
    const std::byte* block = r == rank_ ? mine : slot(rank_, r);
    sources_[r] = block;
    if (!reduces) std::memmove(own_output(r), block, block_);
  }
  destinations_[0] = own_output(0);
  if (reduces) reduce(1, count_);
}

/// Nobody but the root waits, unless it is two calls behind.
void Limit::to_root_short() {
  ++round_;
  if (rank_ != spec_.root) {
    if (round_ > since_ + 2) wait(spec_.root, round_ - 2);
    return push(spec_.root, send_of(rank_, 0));
  }
  wait_all();
  for (uint32_t r = 0; r < spec_.ranks; ++r) {
    sources_[r] = r == rank_ ? send_of(r, 0) : slot(rank_, r);
  }
  destinations_[0] = own_output(0);
  reduce(1, count_);
  for (uint32_t peer = 0; peer < spec_.ranks; ++peer) {
    if (peer != rank_) signal(peer);
  }
}

/// The root does not wait, unless somebody is two calls behind.
void Limit::from_root_short() {
  ++round_;
  const bool scatters = spec_.op == Op::kScatter;
  if (rank_ != spec_.root) {
    wait(spec_.root, round_);
    std::memcpy(own_output(0), slot(rank_, spec_.root), block_);
    return signal(spec_.root);
  }
  for (uint32_t peer = 0; peer < spec_.ranks; ++peer) {
    if (peer == rank_) continue;
    if (round_ > since_ + 2) wait(peer, round_ - 2);
    push(peer, send_of(rank_, scatters ? peer : 0));
  }
  if (scatters) std::memmove(own_output(0), send_of(rank_, rank_), block_);
}

}  // namespace weft::tools
