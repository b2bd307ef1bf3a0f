// SPDX-License-Identifier: Apache-2.0
// What HCCL_ENTRY_LOG_ENABLE and HCCL_DEBUG_CONFIG log of a communicator.
#include <fmt/format.h>

#include "base/log.hpp"
#include "base/names.hpp"
#include "comm/communicator.hpp"

namespace weft::comm {

void Communicator::log_entry(const Call& call, const void* stream) const {
  log::tell(
      fmt::format("entry: communicator {}, rank {}/{}, device {}: {}, sendBuf {}, recvBuf {}, "
                  "stream {}",
                  name(), rank_, ranks_, device_, describe(call.key), call.in,
                  static_cast<const void*>(call.out), stream));
}

void Communicator::log_entry(std::span<const Message> messages, const void* stream) const {
  for (const Message& message : messages) {
    log::tell(
        fmt::format("entry: communicator {}, rank {}/{}, device {}: {} {} {} {} rank {}, "
                    "buffer {}, stream {}",
                    name(), rank_, ranks_, device_, message.sends ? "send" : "receive",
                    message.count, type_name(message.type), message.sends ? "to" : "from",
                    message.peer, message.buffer, stream));
  }
}

void Communicator::log_choice(const exec::ExecPlan& plan) const {
  log::tell(fmt::format("ALG: communicator {}, rank {}/{}: {} is done by {}, chosen by {}, {}",
                        name(), rank_, ranks_, describe(plan.key), plan.algorithm, plan.source,
                        plan.as_tasks ? "as stream tasks" : "by the direct engine"));
}

void Communicator::log_resources() const {
  const uint64_t board = exec::board_layout(ranks_, scratch_bytes()).bytes;
  std::string spaces;
  for (const auto& memory : memories_) spaces += fmt::format(", {}", memory->name());
  log::tell(
      fmt::format("RESOURCE: communicator {}, rank {}/{}, device {}: HCCL buffer 2 x {} bytes, "
                  "shared memory {} bytes, window of the transport {} bytes, memory: {}{}",
                  name(), rank_, ranks_, device_, options_.scratch_bytes,
                  board_ == nullptr ? 0 : board, info_.window_size, config::kHeap, spaces));
}

}  // namespace weft::comm
