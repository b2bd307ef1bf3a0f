// SPDX-License-Identifier: Apache-2.0
// Events. A record is a position of a stream, so it needs no task of its own: it is complete when
// the stream has got there. Only records of timed events queue a task, which takes the time.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "acl/acl.h"
#include "event_share.hpp"
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
  uint32_t waits = 0;   // queued waits of this life that are not done yet
  uint64_t life = 0;    // counts the events this slot has been
  uint64_t record = 0;  // number of the newest record, counted over all lives
  bool recorded = false;
  Stream* stream = nullptr;  // where it was recorded; slots of streams never vanish
  uint64_t position = 0;
  int64_t time_ns = 0;            // of the newest record, once its task ran; 0 until then
  SharedEvent* shared = nullptr;  // of an ACL_EVENT_IPC event, whose records are there
};

static_assert(sizeof(Event) == 128);

extern constinit Pool<Event, (1U << 20)> g_events;

/// The event behind a handle; nullptr after reporting why not.
Event* find_event(aclrtEvent handle, const char* where, aclError* error) noexcept;

/// A new event, which takes `shared` over, also on failure.
aclError make_event(const Context& context, uint32_t flags, EventForm form, SharedEvent* shared,
                    const char* where, aclrtEvent* output) noexcept;

/// What a stream waits for.
struct Record {
  Stream* stream;
  uint64_t position;
  bool passed() const noexcept { return stream->done.load(std::memory_order_acquire) >= position; }
  bool reached() const noexcept { return passed() && !dropped(); }
  /// The stream was aborted before it got there: those who wait stay blocked.
  bool dropped() const noexcept {
    return stream->aborted.load(std::memory_order_acquire) &&
           position > stream->abort_floor.load(std::memory_order_relaxed);
  }
};

}  // namespace weft::acl
