// SPDX-License-Identifier: Apache-2.0
// What a communicator does with WEFT_CHECK=memory: looks at the buffers of a call before anything
// of it is issued, and refuses the call.
#include <fmt/format.h>

#include <cstring>

#include "base/error.hpp"
#include "comm/communicator.hpp"

namespace weft::comm {

void Communicator::check_memory(const Call& call, const Extent& extent, const exec::Task& task) {
  CallShape shape;
  shape.rank = rank_;
  shape.ranks = ranks_;
  shape.in_bytes = extent.in;
  shape.out_bytes = extent.out;
  shape.block_bytes = task.plan->plan.block_bytes;
  shape.blocks = task.blocks;
  if (const auto finding = memory_check_->look_at(call, shape)) {
    refuse(*finding, next_call_, call.key);
  }
}

void Communicator::check_memory(std::span<const Message> messages) {
  ++batches_;
  const auto finding = memory_check_->look_at(messages);
  if (!finding) return;
  CallKey key;
  key.op = kOpBatch;
  key.count = messages.size();
  if (messages.size() == 1) {
    key = {.count = messages[0].count,
           .root = messages[0].peer,
           .op = messages[0].sends ? kOpSend : kOpReceive,
           .type = static_cast<uint8_t>(messages[0].type)};
  }
  refuse(*finding, batches_, key);
}

/// Peers may be in this call already and would wait for this rank until their time is over; so it
/// takes part in no other call either. A single rank has nobody to tell and can go on.
void Communicator::refuse(const MemoryCheck::Finding& finding, uint64_t number,
                          const CallKey& key) {
  if (ranks_ > 1) {
    exec::Fault fault{};
    fault.code = HCCL_E_PARA;
    fault.kind = exec::FaultKind::kBuffer;
    fault.rank_a = fault.rank_b = rank_;
    fault.call = number;
    fault.key_a = key;
    std::strncpy(fault.note, finding.brief.c_str(), sizeof fault.note - 1);
    watch_->raise(fault);
  }
  throw Error(HCCL_E_PARA,
              fmt::format("{} {} of rank {} of communicator {}, {}: {} (WEFT_CHECK=memory)",
                          key.op < WEFT_OP_COUNT ? "call" : "batch", number, rank_, name(),
                          describe(key), finding.text));
}

void Communicator::check_argument(const char* argument, const void* address) const {
  if (memory_check_ == nullptr) return;
  if (const auto finding = memory_check_->look_at(argument, address)) {
    throw Error(HCCL_E_PARA, fmt::format("rank {} of communicator {}: {} (WEFT_CHECK=memory)",
                                         rank_, name(), finding->text));
  }
}

}  // namespace weft::comm
