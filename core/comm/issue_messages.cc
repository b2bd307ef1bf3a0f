// SPDX-License-Identifier: Apache-2.0
// The way of messages from their arguments to the stream.
#include <fmt/format.h>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/communicator.hpp"

namespace weft::comm {
namespace {

using Kind = exec::MessageStep::Kind;

exec::MessageStep step_of(const Message& message) {
  exec::MessageStep step;
  step.kind = message.sends ? Kind::kSend : Kind::kReceive;
  step.type = static_cast<uint8_t>(message.type);
  step.peer = message.peer;
  if (message.sends) step.from = message.buffer;
  if (!message.sends) step.to = message.buffer;
  step.count = message.count;
  step.bytes = message.count * type_size(message.type);
  return step;
}

std::string text(const Message& message) {
  return fmt::format("{} {}", message.count, type_name(message.type));
}

/// What a rank sends to itself is a copy to the receive with the same place among its receives.
/// Throws Error if they do not match.
void add_copies(std::span<const Message> messages, uint32_t self,
                std::vector<exec::MessageStep>& steps) {
  const auto is_own = [self](const Message& m) { return m.peer == self && m.count > 0; };
  auto receive = messages.begin();
  for (const Message& send : messages) {
    if (!is_own(send) || !send.sends) continue;
    while (receive != messages.end() && (!is_own(*receive) || receive->sends)) ++receive;
    if (receive == messages.end()) {
      throw Error(HCCL_E_PARA, "this rank sends more messages to itself than it receives");
    }
    if (receive->count != send.count || receive->type != send.type) {
      throw Error(HCCL_E_PARA, fmt::format("this rank sends {} to itself and receives {}",
                                           text(send), text(*receive)));
    }
    exec::MessageStep copy = step_of(send);
    copy.kind = Kind::kCopy;
    copy.to = receive->buffer;
    steps.push_back(copy);
    ++receive;
  }
  for (; receive != messages.end(); ++receive) {
    if (is_own(*receive) && !receive->sends) {
      throw Error(HCCL_E_PARA, "this rank receives more messages from itself than it sends");
    }
  }
}

}  // namespace

void Communicator::issue(std::span<const Message> messages, void* stream) {
  check_health();
  if (options_.entry_log) log_entry(messages, stream);
  if (memory_check_ != nullptr) check_memory(messages);
  exec::MessageTask& task = messenger_->fresh_task();
  add_copies(messages, rank_, task.steps);
  Buffer slowest;  // of those that are sent
  for (const Message& message : messages) {
    if (message.peer == rank_ || message.count == 0) continue;
    exec::MessageStep step = step_of(message);
    // The receiver copies into its own buffer: only the sender's has to be seen by another.
    if (tasks_engine_ == nullptr && message.sends && step.bytes > schedule::kCarryBytes) {
      const Found found = find_buffer(message.buffer, step.bytes);
      step.shift = found.shift;
      if (found.way == Way::kStaged) {
        step.staged = step.from;
        step.from = message_staging_->get(step.bytes, task);
      }
      if (found.way > slowest.way) slowest = {message.buffer, step.bytes, found.way};
    }
    task.steps.push_back(step);
  }
  if (task.steps.empty()) return;
  if (tasks_engine_ != nullptr) {
    tasks_engine_->issue(task.steps, stream);
    const Buffer all{messages.front().buffer, task.steps.front().bytes, Way::kStaged};
    const CallKey key{messages.size(), 0, kOpBatch, 0, 0, 0};
    return remember({"send_recv", "core", 1, all, {}, true}, key);
  }
  messenger_->launch(task);
  const int32_t code = transport_.table->submit(endpoint_, stream, &task.base);
  if (code != HCCL_SUCCESS) {
    messenger_->undo(task);
    throw Error(static_cast<HcclResult>(code),
                fmt::format("the call cannot be put on the stream: {}", plugin::take_failure()));
  }
  CallKey what;
  what.op = kOpBatch;
  what.count = messages.size();
  remember({"send_recv", "core", 1, slowest, {}, false}, what);
}

void Communicator::synchronize(void* stream) const {
  const int32_t code = transport_.table->synchronize(endpoint_, stream);
  if (code == HCCL_SUCCESS) return;
  const std::string reason = plugin::take_failure();
  const int32_t health = watch_->health();
  if (health == HCCL_SUCCESS) throw Error(static_cast<HcclResult>(code), reason);
  throw Error(static_cast<HcclResult>(health), watch_->health_text());
}

}  // namespace weft::comm
