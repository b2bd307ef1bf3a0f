// SPDX-License-Identifier: Apache-2.0
// Events shared between processes (ACL_EVENT_IPC). Each has a page of memory of its own, in which
// all processes that know the event record, and look for records.
#pragma once

#include <atomic>
#include <cstdint>

#include "acl/acl.h"
#include "ipc_server.hpp"
#include "stream.hpp"

namespace weft::acl {

struct Event;
struct RecordPage;

/// This process's side of a shared event. Its handle and its queued tasks use it; the last of them
/// unmaps the page. Nothing of it needs cleaning up when a process dies.
struct alignas(128) SharedEvent {
  std::atomic<Life> life_state{Life::kDead};
  bool exported = false;  // guarded by the event's mutex
  SharedEvent* next_free = nullptr;
  RecordPage* page = nullptr;
  std::atomic<uint32_t> uses{0};
  uint32_t own_name = 0;               // of this process, see serve_importers()
  int file = -1;                       // in the creator's process, to export it
  std::atomic<int64_t> next_probe{0};  // when to see again whether a recorder lives
  Key key;                             // once exported
};

/// Holds the shared event behind a handle, so that it stays while somebody else destroys it. Empty
/// if the handle is no live event, or one that is not shared.
class SharedUse {
 public:
  explicit SharedUse(Event* event) noexcept;
  SharedUse(const SharedUse&) = delete;
  SharedUse& operator=(const SharedUse&) = delete;
  ~SharedUse();

  explicit operator bool() const noexcept { return event_ != nullptr; }
  SharedEvent& operator*() const noexcept { return *event_; }

 private:
  SharedEvent* event_ = nullptr;
};

aclError create_shared(const char* where, SharedEvent** output);

/// Ends the export, and the handle's use.
void drop_shared(SharedEvent& event) noexcept;

aclError record_shared(SharedEvent& event, Stream& stream, const char* where) noexcept;
aclError wait_shared(SharedEvent& event, Stream& stream, uint32_t timeout_s,
                     const char* where) noexcept;
aclError synchronise_shared(SharedEvent& event, Deadline deadline, const char* where) noexcept;

/// Whether the newest record is reached, or there is none.
aclError query_shared(SharedEvent& event, const char* where, bool* complete) noexcept;

}  // namespace weft::acl
