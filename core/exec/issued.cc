// SPDX-License-Identifier: Apache-2.0
#include "exec/issued.hpp"

#include <bit>

#include "hccl/hccl_types.h"

namespace weft::exec {

int32_t Issued::add(const comm::CallKey& key, uint32_t fingerprint) noexcept {
  ++call_;
  history_ = std::rotl((history_ ^ fingerprint) * 0x9e3779b1u, 15);
  const uint64_t tag = tag_of(call_, history_);
  Record& mine = setup_.boards[setup_.rank]->issued[call_ % kIssued];
  mine.key = key;
  // Of two that write and then look, one sees the other.
  mine.tag.store(tag, std::memory_order_seq_cst);
  for (uint32_t peer = 0; peer < setup_.ranks; ++peer) {
    if (peer == setup_.rank || (!watch_.is_open(peer) && !watch_.is_closed(peer))) continue;
    const Record& theirs = setup_.boards[peer]->issued[call_ % kIssued];
    const uint64_t other = theirs.tag.load(std::memory_order_seq_cst);
    if (other >> 32 == tag >> 32 && other != tag) return differs(key, peer, theirs);
  }
  return 0;
}

int32_t Issued::differs(const comm::CallKey& key, uint32_t peer, const Record& theirs) noexcept {
  Fault fault{};
  fault.code = HCCL_E_PARA;
  fault.rank_a = setup_.rank;
  fault.rank_b = peer;
  fault.call = call_;
  fault.key_a = key;
  fault.key_b = theirs.key;
  return watch_.raise(fault);
}

}  // namespace weft::exec
