// SPDX-License-Identifier: Apache-2.0
// Messages in the tasks engine. A message goes in parts through a few slots in the receiver's
// memory: the sender waits until a slot was emptied, copies a part there and records that; the
// receiver waits for it, copies it out and records that it was taken. A send ends when all of it
// was taken.
//
// All messages to one peer go over one stream of the communicator's own, all messages from it over
// another, so none keeps another from going on; the caller's stream waits for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/messenger.hpp"
#include "exec/pending.hpp"
#include "exec/task_layout.hpp"
#include "exec/task_queue.hpp"

namespace weft::exec {

class Posts {
 public:
  /// `shared`: the memory of all ranks, at addresses of this process.
  Posts(uint32_t rank, const TaskLayout& layout, std::vector<std::byte*> shared,
        const TaskTools& tools, Pending& pending);

  static constexpr uint32_t marks(uint32_t ranks) { return 2 * ranks; }

  /// `places`: of the buffer of each step. Throws Error: part of the messages is then on its way,
  /// and the communicator can do no more.
  void run(std::span<const MessageStep> steps, std::span<const uint32_t> places, uint32_t call,
           TaskQueue& queue);

 private:
  /// A message on its way onto its stream.
  struct Open {
    const MessageStep* step;
    uint32_t place;
    uint64_t part = 0;  // the next one
  };

  void* stream(uint32_t chain);
  void queue_part(Open& open, TaskQueue& queue) const;
  void send_part(const Open& open, TaskQueue& queue) const;
  void receive_part(const Open& open, TaskQueue& queue) const;
  [[nodiscard]] uint32_t chain(const MessageStep& step) const;
  [[nodiscard]] uint64_t parts(const MessageStep& step) const {
    return (step.bytes + layout_.slot_bytes - 1) / layout_.slot_bytes;
  }

  const uint32_t rank_;
  const TaskLayout layout_;
  const std::vector<std::byte*> shared_;
  const TaskTools& tools_;
  Pending& pending_;
  std::vector<void*> streams_;  // by chain: to each peer, then from each
};

}  // namespace weft::exec
