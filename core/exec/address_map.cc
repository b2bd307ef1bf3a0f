// SPDX-License-Identifier: Apache-2.0
#include "exec/address_map.hpp"

#include <utility>

namespace weft::exec {
namespace {

constexpr uint64_t kTokenMask = (uint64_t{1} << kTokenBits) - 1;

}  // namespace

AddressMap::AddressMap(std::vector<int64_t> deltas, uint32_t spaces)
    : deltas_(std::move(deltas)),
      spaces_(spaces),
      tables_(std::make_unique<RangeTable[]>(size_t{spaces} * columns())),
      uses_(std::make_unique<Use[]>(size_t{spaces} * ranks())),
      answers_(size_t{kBuffers} * ranks()) {}

bool AddressMap::show_own(uint32_t space, uint64_t address, uint64_t bytes, uint64_t token) {
  if (token > kTokenMask || bytes > kTokenMask - token) return false;
  const std::lock_guard lock(mutex_);
  const bool added =
      tables_[space * columns()].add(address, bytes, uint64_t{space} << kTokenBits | token);
  own_version_.fetch_add(1, std::memory_order_release);
  return added;
}

void AddressMap::hide_own(uint32_t space, uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  tables_[space * columns()].remove(address, bytes);
  own_version_.fetch_add(1, std::memory_order_release);
}

bool AddressMap::show_peer(uint32_t space, uint32_t peer, uint64_t token, uint64_t bytes,
                           uint64_t address) {
  const std::lock_guard lock(mutex_);
  return table_of(space, peer).add(token, bytes, address);
}

void AddressMap::hide_peer(uint32_t space, uint32_t peer, uint64_t token, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  table_of(space, peer).remove(token, bytes);
}

bool AddressMap::peer_in_use(uint32_t space, uint32_t peer, uint64_t done) const noexcept {
  const Use& use = uses_[space * ranks() + peer];
  return use.call.load(std::memory_order_seq_cst) > done ||
         use.reading.load(std::memory_order_seq_cst) != 0;
}

bool AddressMap::find_own(uint32_t space, uint64_t address, uint64_t bytes,
                          uint64_t* shift) const noexcept {
  return tables_[space * columns()].find(address, bytes, shift);
}

std::byte* AddressMap::look(uint32_t peer, uint64_t word) noexcept {
  uint64_t shift = 0;
  const uint64_t token = word & kTokenMask;
  const auto space = static_cast<uint32_t>(word >> kTokenBits);
  if (!table_of(space, peer).find(token, 1, &shift)) return nullptr;
  return reinterpret_cast<std::byte*>(token + shift);
}

std::byte* AddressMap::find_in_space(uint32_t peer, uint64_t word, uint64_t call,
                                     uint32_t buffer) noexcept {
  const uint64_t space = word >> kTokenBits;
  if (space >= spaces_) return nullptr;  // it comes from another process: trust no index
  std::atomic<uint64_t>& used = uses_[space * ranks() + peer].call;
  if (used.load(std::memory_order_relaxed) < call) used.store(call, std::memory_order_seq_cst);
  Answer& last = answers_[peer * kBuffers + buffer];
  const uint64_t version = table_of(static_cast<uint32_t>(space), peer).version();
  if (last.word != word || last.version != version) last = {word, version, look(peer, word)};
  return last.address;
}

std::byte* AddressMap::start_reading(uint32_t peer, uint64_t word) noexcept {
  const uint64_t space = word >> kTokenBits;
  if (space == kTransportSpace) return by_delta(peer, word);
  if (space >= spaces_) return nullptr;
  uses_[space * ranks() + peer].reading.fetch_add(1, std::memory_order_seq_cst);
  return look(peer, word);
}

void AddressMap::stop_reading(uint32_t peer, uint64_t word) noexcept {
  const uint64_t space = word >> kTokenBits;
  if (space == kTransportSpace || space >= spaces_) return;
  uses_[space * ranks() + peer].reading.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace weft::exec
