// SPDX-License-Identifier: Apache-2.0
// What the tasks engine puts on one stream. Every function throws Error if the transport refuses.
#pragma once

#include <cstdint>

#include "exec/watch.hpp"
#include "weft/transport.h"

namespace weft::exec {

/// Of one communicator, for all its streams.
struct TaskTools {
  const weft_tasks& table;
  void* endpoint;
  const Watch& watch;
  uint32_t seconds;  // that a wait on a stream may take; 0: for ever
};

class TaskQueue {
 public:
  TaskQueue(const TaskTools& tools, void* stream) : tools_(tools), stream_(stream) {}

  [[nodiscard]] void* stream() const noexcept { return stream_; }

  /// Nothing is queued for 0 bytes, nor if source and destination are the same.
  void copy(void* dst, const void* src, uint64_t bytes, uint32_t place = WEFT_SIDE_DEVICE);
  /// dst = dst op src.
  void reduce(void* dst, const void* src, uint64_t count, int32_t type, int32_t op);
  void record(uint32_t peer, uint32_t flag);
  void wait(uint32_t peer, uint32_t flag);
  void mark(uint32_t mark);
  void follow(uint32_t mark);

 private:
  void check(int32_t code) const;

  const TaskTools& tools_;
  void* const stream_;
};

}  // namespace weft::exec
