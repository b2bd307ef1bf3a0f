// SPDX-License-Identifier: Apache-2.0
// Events. A record is a position of a stream, so it needs no task of its own: it is complete when
// the stream has got there. Only records of timed events queue a task, which takes the time.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "acl/acl.h"
#include "pool.hpp"
#include "stream.hpp"

namespace weft::acl {

enum class EventForm {
  kLegacy,    ///< aclrtCreateEvent
  kWithFlag,  ///< aclrtCreateEventWithFlag
  kEx,        ///< aclrtCreateEventExWithFlag: takes nothing of the device
};

constexpr size_t kEventsPerDevice = 65536;

struct alignas(128) Event {
  std::atomic<Life> life_state{Life::kDead};
  Event* next_free = nullptr;
  std::mutex mutex;  // guards the rest
  EventForm form = EventForm::kLegacy;
  uint32_t flags = 0;
  int32_t device = 0;
  uint64_t life = 0;    // counts the events this slot has been
  uint64_t record = 0;  // number of the newest record, counted over all lives
  bool recorded = false;
  Stream* stream = nullptr;  // where it was recorded; slots of streams never vanish
  uint64_t position = 0;
  int64_t time_ns = 0;  // of the newest record, once its task ran; 0 until then
  uint32_t waits = 0;   // queued waits of this life that are not done yet
};

extern constinit Pool<Event, (1U << 20)> g_events;

/// What a stream waits for.
struct Record {
  Stream* stream;
  uint64_t position;
  bool reached() const noexcept { return stream->done.load(std::memory_order_acquire) >= position; }
};

}  // namespace weft::acl
