// SPDX-License-Identifier: Apache-2.0
// Records of shared events. A record takes an entry of the event's page and becomes the newest; a
// task on the recorder's stream marks the entry once the stream gets there. Who waits remembers
// entry and generation: an entry of a later generation has been reached before. The entry also
// says which process records, so that the others notice its death.
#include "event_share.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>

#include "context.hpp"
#include "event.hpp"
#include "heap.hpp"
#include "ipc_client.hpp"

namespace weft::acl {

constexpr uint32_t kEntries = 504;  // records of one event that may be on their way at once

/// What is in the memory, accessed atomically. A fresh one is all zeros.
struct RecordPage {
  uint64_t newest;  // 0: never recorded; else kRecorded, generation << 16, entry
  std::array<uint64_t, 7> unused;
  std::array<uint64_t, kEntries> words;  // recorder << 32, generation << 2, state
};
static_assert(sizeof(RecordPage) == kPage);

namespace {

constinit Pool<SharedEvent, (1U << 16)> g_shared_events;

constexpr uint64_t kRecorded = uint64_t{1} << 63;
constexpr uint32_t kGenerations = (uint32_t{1} << 30) - 1;  // mask
constexpr int64_t kProbeNs = 200'000'000;                   // between looks after a recorder
constexpr int64_t kBusyNs = 1'000'000;  // a thread looks often this long, then seldom
constexpr long kNapNs = 50'000;

enum class State : uint32_t {
  kReached = 0,  // also: never used
  kPending = 1,
  kLost = 2,  // its process has ended before
};

/// One record of an event.
struct Ticket {
  uint32_t entry;
  uint32_t generation;
};

uint64_t word_of(uint32_t recorder, uint32_t generation, State state) noexcept {
  return uint64_t{recorder} << 32 | generation << 2 | static_cast<uint32_t>(state);
}
uint32_t recorder_of(uint64_t word) noexcept { return static_cast<uint32_t>(word >> 32); }
uint32_t generation_of(uint64_t word) noexcept { return static_cast<uint32_t>(word) >> 2; }
State state_of(uint64_t word) noexcept {
  if ((word & static_cast<uint32_t>(State::kLost)) != 0) return State::kLost;
  return static_cast<State>(word & static_cast<uint32_t>(State::kPending));
}

std::atomic_ref<uint64_t> entry_of(const SharedEvent& event, uint32_t entry) noexcept {
  return std::atomic_ref(event.page->words[entry]);
}

void add_use(SharedEvent& event) noexcept { event.uses.fetch_add(1, std::memory_order_relaxed); }

void release(SharedEvent& event) noexcept {
  if (event.uses.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  munmap(event.page, sizeof(RecordPage));
  event.page = nullptr;
  g_shared_events.release(&event);
}

bool probe_is_due(SharedEvent& event) noexcept {
  const int64_t now = now_ns();
  int64_t due = event.next_probe.load(std::memory_order_relaxed);
  return now >= due && event.next_probe.compare_exchange_strong(due, now + kProbeNs);
}

bool recorder_lives(const SharedEvent& event, uint64_t word) noexcept {
  return recorder_of(word) == event.own_name || is_served(recorder_of(word));
}

State look_at(SharedEvent& event, const Ticket& ticket) noexcept {
  const auto entry = entry_of(event, ticket.entry);
  const auto seen = [&](uint64_t word) {
    return generation_of(word) == ticket.generation ? state_of(word) : State::kReached;
  };
  uint64_t word = entry.load(std::memory_order_acquire);
  if (seen(word) != State::kPending || !probe_is_due(event) || recorder_lives(event, word)) {
    return seen(word);
  }
  // The recorder may have got there just before it ended.
  const uint64_t lost = word_of(recorder_of(word), ticket.generation, State::kLost);
  if (entry.compare_exchange_strong(word, lost, std::memory_order_acq_rel)) return State::kLost;
  return seen(word);
}

// False if the event was never recorded.
bool newest(const SharedEvent& event, Ticket* ticket) noexcept {
  const uint64_t word = std::atomic_ref(event.page->newest).load(std::memory_order_acquire);
  *ticket = {static_cast<uint32_t>(word & 0xFFFF) % kEntries,
             static_cast<uint32_t>(word >> 16) & kGenerations};
  return (word & kRecorded) != 0;
}

// Takes an entry that is in the given state, the first one, for a record of this process.
bool take_entry(const SharedEvent& event, State state, Ticket* ticket) noexcept {
  for (uint32_t i = 0; i < kEntries; ++i) {
    const auto entry = entry_of(event, i);
    uint64_t word = entry.load(std::memory_order_relaxed);
    if (state_of(word) != state) continue;
    *ticket = {i, (generation_of(word) + 1) & kGenerations};
    const uint64_t mine = word_of(event.own_name, ticket->generation, State::kPending);
    if (entry.compare_exchange_strong(word, mine, std::memory_order_acq_rel)) return true;
  }
  return false;
}

void forget_dead_recorders(SharedEvent& event) noexcept {
  for (uint32_t i = 0; i < kEntries; ++i) {
    const auto entry = entry_of(event, i);
    uint64_t word = entry.load(std::memory_order_relaxed);
    if (state_of(word) != State::kPending || recorder_lives(event, word)) continue;
    entry.compare_exchange_strong(word,
                                  word_of(recorder_of(word), generation_of(word), State::kLost));
  }
}

// With all entries on their way, waits for one of them, as a full stream does for its tasks.
aclError take_entry(SharedEvent& event, const char* where, Ticket* ticket) noexcept {
  while (!take_entry(event, State::kReached, ticket)) {
    if (probe_is_due(event)) forget_dead_recorders(event);
    if (take_entry(event, State::kLost, ticket)) return ACL_SUCCESS;
    if (t_thread.in_host_function) {
      return fail(ACL_ERROR_RT_NO_EVENT_RESOURCE,
                  "%s: %u records of the event are not reached yet and a host function must not "
                  "wait; record less from it",
                  where, kEntries);
    }
    help_others(nullptr);
    sched_yield();
  }
  return ACL_SUCCESS;
}

void mark_reached(const SharedEvent& event, const Ticket& ticket) noexcept {
  uint64_t mine = word_of(event.own_name, ticket.generation, State::kPending);
  entry_of(event, ticket.entry)
      .compare_exchange_strong(mine, word_of(event.own_name, ticket.generation, State::kReached),
                               std::memory_order_acq_rel);
}

struct RecordTask {
  SharedEvent* event;
  Ticket ticket;
};

struct WaitTask {
  SharedEvent* event;
  Ticket ticket;
  int64_t timeout_ns;  // 0: none
  int64_t deadline;    // set when the stream reaches the task
};

// Discarding a stream's tasks reaches its records, too.
int32_t step_record(Stream&, Task& task, Runner) noexcept {
  const auto& a = task.arguments<RecordTask>();
  mark_reached(*a.event, a.ticket);
  release(*a.event);
  return kDone;
}

aclError report_lost(const char* where) noexcept {
  return fail(ACL_ERROR_RT_IPC_ERROR,
              "%s: the process that recorded the event has ended before its stream got there; see "
              "why it ended",
              where);
}

int32_t step_wait(Stream& stream, Task& task, Runner runner) noexcept {
  constexpr const char* kWhere = "aclrtStreamWaitEvent";
  auto& a = task.arguments<WaitTask>();
  int32_t result = kDone;
  const State state = runner == Runner::kDiscard ? State::kReached : look_at(*a.event, a.ticket);
  if (state == State::kLost) {
    result = report_lost(kWhere);
  } else if (state == State::kPending) {
    if (a.timeout_ns == 0) return kAgain;
    const int64_t now = now_ns();
    if (a.deadline == 0) a.deadline = now + a.timeout_ns;
    if (now < a.deadline) return kAgain;
    result = fail(ACL_ERROR_RT_TASK_TIMEOUT,
                  "%s: stream %d of device %d has waited %lld s for a record of a shared event; "
                  "look at the stream or the process that records, or raise the timeout",
                  kWhere, stream.id, stream.device.load(),
                  static_cast<long long>(a.timeout_ns / 1'000'000'000));
  }
  release(*a.event);
  return result;
}

// The event of a file, which becomes the event's if it is kept; nullptr after reporting.
SharedEvent* adopt(int file, bool keep, uint32_t own_name, const char* where) noexcept {
  void* page = mmap(nullptr, sizeof(RecordPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = errno;
  SharedEvent* event = page == MAP_FAILED ? nullptr : g_shared_events.acquire();
  if (event == nullptr) {
    if (page != MAP_FAILED) munmap(page, sizeof(RecordPage));
    fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, "%s: no room for another shared event: %s", where,
         page == MAP_FAILED ? strerror(error) : "destroy some");
    return nullptr;
  }
  event->page = static_cast<RecordPage*>(page);
  event->exported = false;
  event->uses = 1;
  event->own_name = own_name;
  event->file = keep ? file : -1;
  event->next_probe = now_ns() + kProbeNs;
  event->life_state.store(Life::kLive, std::memory_order_release);
  return event;
}

aclError export_event(Event& event, aclrtIpcEventHandle* handle, const char* where) {
  if (const aclError error = refuse_after_fork(where)) return error;
  const std::lock_guard lock(event.mutex);
  SharedEvent* shared = event.shared;
  if (shared == nullptr || shared->file < 0) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %s", where,
                shared == nullptr ? "the event cannot be shared; create it with "
                                    "aclrtCreateEventExWithFlag and ACL_EVENT_IPC"
                                  : "the event is another process's; only its creator exports it");
  }
  if (!shared->exported) {
    Offer offer{Shared::kEvent, shared->file, false, false, {}};
    offer.reply.device = event.device;
    offer.reply.size = sizeof(RecordPage);
    if (const aclError error = add_export(offer, where, &shared->key)) return error;
    shared->exported = true;
  }
  std::memcpy(handle->reserved, to_text(shared->key).data(), sizeof handle->reserved);
  return ACL_SUCCESS;
}

bool is_record_page(const Reply& reply, int file) noexcept {
  struct stat status {};
  const int seals = fcntl(file, F_GET_SEALS);
  return reply.size == sizeof(RecordPage) && fstat(file, &status) == 0 &&
         status.st_size == sizeof(RecordPage) && seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

aclError open_event(const Key& key, const Context& context, const char* where, aclrtEvent* output) {
  if (const aclError error = refuse_after_fork(where)) return error;
  if (const aclError error = watch_forks(where, ACL_ERROR_RT_NO_EVENT_RESOURCE)) return error;
  uint32_t own_name = 0;
  if (const aclError error = serve_importers(where, &own_name)) return error;
  Reply reply;
  int file = -1;
  if (const aclError error = fetch(key, &reply, &file, where)) return error;
  const Descriptor received(file);
  if (!is_record_page(reply, file)) {
    return fail(ACL_ERROR_RT_IPC_ERROR, "%s: process %u answers nonsense", where, key.pid);
  }
  SharedEvent* shared = adopt(file, false, own_name, where);
  if (shared == nullptr) return ACL_ERROR_RT_NO_EVENT_RESOURCE;
  return make_event(context, ACL_EVENT_IPC, EventForm::kEx, shared, where, output);
}

}  // namespace

SharedUse::SharedUse(Event* event) noexcept {
  if (event == nullptr) return;
  const std::lock_guard lock(event->mutex);
  event_ = event->shared;
  if (event_ != nullptr) add_use(*event_);
}

SharedUse::~SharedUse() {
  if (event_ != nullptr) release(*event_);
}

aclError create_shared(const char* where, SharedEvent** output) {
  if (const aclError error = refuse_after_fork(where)) return error;
  if (const aclError error = watch_forks(where, ACL_ERROR_RT_NO_EVENT_RESOURCE)) return error;
  uint32_t own_name = 0;
  if (const aclError error = serve_importers(where, &own_name)) return error;
  std::string why;
  const int file = create_memory_file("weft-event", sizeof(RecordPage), &why);
  if (file < 0) {
    return fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, "%s: no memory for a shared event: %s", where,
                why.c_str());
  }
  *output = adopt(file, true, own_name, where);
  if (*output != nullptr) return ACL_SUCCESS;
  close(file);
  return ACL_ERROR_RT_NO_EVENT_RESOURCE;
}

void drop_shared(SharedEvent& event) noexcept {
  if (event.exported) remove_export(event.key);
  if (event.file >= 0) close(event.file);
  release(event);
}

aclError record_shared(SharedEvent& event, Stream& stream, const char* where) noexcept {
  if (const aclError error = refuse_after_fork(where)) return error;
  Ticket ticket{};
  if (const aclError error = take_entry(event, where, &ticket)) return error;
  add_use(event);
  if (const aclError error = enqueue(stream, where, step_record, RecordTask{&event, ticket})) {
    mark_reached(event, ticket);
    release(event);
    return error;
  }
  std::atomic_ref(event.page->newest)
      .store(kRecorded | uint64_t{ticket.generation} << 16 | ticket.entry,
             std::memory_order_release);
  return ACL_SUCCESS;
}

aclError wait_shared(SharedEvent& event, Stream& stream, uint32_t timeout_s,
                     const char* where) noexcept {
  WaitTask wait{&event, {}, timeout_s * INT64_C(1'000'000'000), 0};
  if (!newest(event, &wait.ticket) || look_at(event, wait.ticket) == State::kReached) {
    return ACL_SUCCESS;
  }
  add_use(event);
  const aclError error = enqueue(stream, where, step_wait, wait);
  if (error != ACL_SUCCESS) release(event);
  return error;
}

aclError synchronise_shared(SharedEvent& event, Deadline deadline, const char* where) noexcept {
  Ticket ticket{};
  if (!newest(event, &ticket) || look_at(event, ticket) == State::kReached) return ACL_SUCCESS;
  if (const aclError error = refuse_in_host_function(where)) return error;
  for (const int64_t start = now_ns();;) {
    switch (look_at(event, ticket)) {
      case State::kReached:
        return ACL_SUCCESS;
      case State::kLost:
        return report_lost(where);
      case State::kPending:
        break;
    }
    if (deadline.expired()) {
      return fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
                  "%s: the stream that recorded the shared event has not reached it in time; it "
                  "keeps running",
                  where);
    }
    help_others(nullptr);
    const timespec nap{0, kNapNs};
    if (now_ns() - start < kBusyNs) {
      sched_yield();
    } else {
      nanosleep(&nap, nullptr);
    }
  }
}

aclError query_shared(SharedEvent& event, const char* where, bool* complete) noexcept {
  Ticket ticket{};
  const State state = newest(event, &ticket) ? look_at(event, ticket) : State::kReached;
  if (state == State::kLost) return report_lost(where);
  *complete = state == State::kReached;
  return ACL_SUCCESS;
}

}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle* handle) {
  constexpr const char* kWhere = "aclrtIpcGetEventHandle";
  if (handle == nullptr) return null_output(kWhere, "handle");
  aclError error = ACL_SUCCESS;
  Event* found = find_event(event, kWhere, &error);
  if (found == nullptr) return error;
  return guarded(kWhere, [&] { return export_event(*found, handle, kWhere); });
}

aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle handle, aclrtEvent* event) {
  constexpr const char* kWhere = "aclrtIpcOpenEventHandle";
  if (event == nullptr) return null_output(kWhere, "event");
  char text[kKeyBytes] = {};
  static_assert(sizeof text == sizeof handle.reserved + 1);
  std::memcpy(text, handle.reserved, sizeof handle.reserved);
  Key key;
  if (!parse_key(text, Shared::kEvent, &key)) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: the bytes are no handle of aclrtIpcGetEventHandle; pass all 64 unchanged",
                kWhere);
  }
  const Context* context = need_context(kWhere);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  return guarded(kWhere, [&] { return open_event(key, *context, kWhere, event); });
}
