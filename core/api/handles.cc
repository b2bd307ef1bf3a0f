// SPDX-License-Identifier: Apache-2.0
#include "api/handles.hpp"

#include <fmt/format.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "api/free_slots.hpp"
#include "api/operators.hpp"
#include "base/error.hpp"

namespace weft::api {

Slot slots[kMaxCommunicators];

namespace {

/// One rank that has a name on a device.
struct Holder {
  std::string origin;
  uint64_t maker = 0;
  HcclComm handle = nullptr;  // null while it is being made
};

/// A communicator that somebody wants to destroy: it is out of its slot, so that no operator
/// begins.
struct Closed {
  comm::Communicator* communicator;
  bool wanted = false;  // an operator waits for it to be back
};

struct Book {
  std::mutex mutex;
  std::condition_variable settled;  // a communicator in `joining` or `closed`
  FreeSlots free{kMaxCommunicators};
  std::map<std::pair<int32_t, std::string>, std::map<uint32_t, Holder>>
      names;  // by device and name: the holder by rank
  std::map<int32_t, std::map<uint32_t, std::string>> tables;  // by device: the rank table by rank
  std::map<uint32_t, NameUse> uses;                           // by slot
  std::map<uint32_t, std::shared_ptr<Joining>> joining;       // by slot
  std::map<uint32_t, Closed> closed;                          // by slot
};

Book& book() {
  static auto* instance = new Book;  // leaked: communicators may outlive static destructors
  return *instance;
}

/// With the book locked.
void forget(const NameUse& use) noexcept {
  if (use.from_table) book().tables[use.device].erase(use.rank);
  const auto found = book().names.find({use.device, use.name});
  if (found == book().names.end()) return;
  found->second.erase(use.rank);
  if (found->second.empty()) book().names.erase(found);
}

/// With the book locked.
void free_slot(uint32_t index) noexcept {
  book().free.give_back(index);
  forget(book().uses[index]);
  book().uses.erase(index);
}

/// With the book locked.
uint32_t take_slot(const NameUse& use) {
  const uint32_t index = book().free.take();
  book().uses[index] = use;
  book().names[{use.device, use.name}][use.rank].handle = &slots[index];
  return index;
}

/// With the book locked.
Joining* find_joining(HcclComm handle) {
  const Slot* slot = slot_of(handle);
  if (slot == nullptr) return nullptr;
  const auto found = book().joining.find(static_cast<uint32_t>(slot - slots));
  return found == book().joining.end() ? nullptr : found->second.get();
}

/// With the book locked.
Closed* find_closed(HcclComm handle) {
  const Slot* slot = slot_of(handle);
  if (slot == nullptr) return nullptr;
  const auto found = book().closed.find(static_cast<uint32_t>(slot - slots));
  return found == book().closed.end() ? nullptr : &found->second;
}

/// Also of one that is closed. With the book locked.
comm::Communicator* find_made(HcclComm handle) {
  const Closed* closed = find_closed(handle);
  return closed == nullptr ? find(handle) : closed->communicator;
}

/// With the book locked.
std::unique_ptr<comm::Communicator> take(Slot& slot) noexcept {
  std::unique_ptr<comm::Communicator> communicator(
      slot.communicator.exchange(nullptr, std::memory_order_acq_rel));
  if (communicator == nullptr) return nullptr;
  free_slot(static_cast<uint32_t>(&slot - slots));
  return communicator;
}

/// At load, when there is one thread: later it takes milliseconds.
const bool has_barrier =
    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;

/// Behind it, who marks a slot as in use is seen, or finds what was in the slot before.
void see_all_marks() {
  if (has_barrier) syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
}

using Clock = std::chrono::steady_clock;

// No operator comes for so long: nobody goes on issuing them.
constexpr std::chrono::milliseconds kLull{2};
// For one of those on their way to end, while no other begins; for all of them.
constexpr std::chrono::milliseconds kLongest{250};
constexpr std::chrono::seconds kLongestOfAll{4};
constexpr std::chrono::microseconds kLook{100};

/// While it lives, no operator of the communicator begins. Else a thread that issues one after the
/// other would keep it busy for ever. With the book locked.
class Closure {
 public:
  explicit Closure(Slot& slot)
      : slot_(slot), index_(static_cast<uint32_t>(&slot - slots)), found_(find(&slot)) {
    if (found_ == nullptr) return;
    closed_ = &book().closed.emplace(index_, Closed{found_, false}).first->second;
    slot_.communicator.store(nullptr, std::memory_order_release);
    see_all_marks();
  }
  ~Closure() {
    if (found_ == nullptr) return;
    if (!taken_) slot_.communicator.store(found_, std::memory_order_release);
    book().closed.erase(index_);
    book().settled.notify_all();
  }
  Closure(const Closure&) = delete;
  Closure& operator=(const Closure&) = delete;

  /// Waits for operators that others issue to end. Throws Error (HCCL_E_AGAIN) if one does not, or
  /// if this thread has issued one that has not ended.
  void await_idle(std::unique_lock<std::mutex>& lock) {
    if (found_->invitations()->awaited()) {
      throw Error(
          HCCL_E_AGAIN,
          "ranks of a sub communicator of this one have not met yet; destroy that first, or "
          "try again");
    }
    const Clock::time_point begin = Clock::now();
    Clock::time_point since = begin;
    uint64_t ended = found_->ended();
    for (bool others = false;;) {
      const bool issuing = slot_.operators.load(std::memory_order_acquire) != 0;
      if (!issuing && !found_->busy()) return;
      others = others || issuing || closed_->wanted;
      const Clock::time_point now = Clock::now();
      if (others && found_->ended() != ended) {
        ended = found_->ended();
        since = now;
      }
      if (now - since > (others ? kLongest : kLull) || now - begin > kLongestOfAll) {
        throw Error(HCCL_E_AGAIN,
                    issuing ? "an operator of this communicator is being issued; try again"
                            : "a call of this communicator has not ended; synchronise its streams "
                              "and try again");
      }
      book().settled.wait_for(lock, kLook);
    }
  }

  /// Null if there is none. The slot is free then.
  std::unique_ptr<comm::Communicator> take() {
    if (found_ == nullptr) return nullptr;
    taken_ = true;
    free_slot(index_);
    return std::unique_ptr<comm::Communicator>(found_);
  }

  [[nodiscard]] bool exists() const noexcept { return found_ != nullptr; }

 private:
  Slot& slot_;
  const uint32_t index_;
  comm::Communicator* const found_;
  Closed* closed_ = nullptr;
  bool taken_ = false;
};

}  // namespace

void refuse_handle() {
  throw Error(HCCL_E_PARA, "comm is no communicator of this process (destroyed?)");
}

ReservedName::ReservedName(NameUse given) : use_(std::move(given)) {
  const NameUse& use = use_;
  const std::lock_guard lock(book().mutex);
  auto& tables = book().tables[use.device];
  if (use.from_table && !tables.empty() &&
      (tables.begin()->second != use.origin || tables.contains(use.rank))) {
    throw Error(HCCL_E_UNAVAIL,
                fmt::format("device {} has rank {} of a communicator from {} already: multiple "
                            "initialization; destroy that communicator first",
                            use.device, tables.begin()->first, tables.begin()->second));
  }
  auto& ranks = book().names[{use.device, use.name}];
  const bool other = !ranks.empty() && ranks.begin()->second.origin != use.origin;
  const Holder holder{use.origin, maker(), nullptr};
  if (other || !ranks.emplace(use.rank, holder).second) {
    throw Error(
        HCCL_E_PARA,
        fmt::format("device {} has {} named '{}' already; destroy it first or choose "
                    "another name",
                    use.device,
                    other ? "a communicator" : fmt::format("rank {} of the communicator", use.rank),
                    use.name));
  }
  if (use.from_table) tables.emplace(use.rank, use.origin);
}

ReservedName::~ReservedName() {
  if (taken_) return;
  const std::lock_guard lock(book().mutex);
  forget(use_);
}

HcclComm ReservedName::take(std::unique_ptr<comm::Communicator> communicator) {
  const std::lock_guard lock(book().mutex);
  const uint32_t index = take_slot(use_);
  taken_ = true;
  slots[index].communicator.store(communicator.release(), std::memory_order_release);
  return &slots[index];
}

HcclComm ReservedName::take(const std::shared_ptr<Joining>& joining) {
  const std::lock_guard lock(book().mutex);
  const uint32_t index = take_slot(use_);
  taken_ = true;
  book().joining[index] = joining;
  joining->handle = &slots[index];
  return joining->handle;
}

void joined(Joining& joining, std::unique_ptr<comm::Communicator> made) {
  const std::lock_guard lock(book().mutex);
  joining.settled = true;
  Slot* slot = slot_of(joining.handle);
  if (slot == nullptr) return;
  if (joining.deterministic) made->set_deterministic(*joining.deterministic);
  slot->communicator.store(made.release(), std::memory_order_release);
  book().joining.erase(static_cast<uint32_t>(slot - slots));
  book().settled.notify_all();
}

void join_failed(Joining& joining, HcclResult code, const std::string& text) {
  const std::lock_guard lock(book().mutex);
  joining.settled = true;
  joining.facts.health = code;
  joining.failure = text;
  book().settled.notify_all();
}

bool give_up_joining(HcclComm handle) noexcept {
  const std::lock_guard lock(book().mutex);
  Joining* joining = find_joining(handle);
  if (joining == nullptr) return false;
  joining->handle = nullptr;
  if (const auto meeting = joining->meeting.lock()) meeting->release();
  const auto index = static_cast<uint32_t>(slot_of(handle) - slots);
  free_slot(index);
  book().joining.erase(index);
  book().settled.notify_all();
  return true;
}

comm::Communicator& await(HcclComm handle, Slot* marked) {
  std::unique_lock lock(book().mutex);
  // Who waits here is not issuing: nobody must wait for it. The mark is set by this thread only.
  const auto mark = [marked](uint32_t change) {
    if (marked == nullptr) return;
    const uint32_t before = marked->operators.load(std::memory_order_relaxed);
    marked->operators.store(before + change, std::memory_order_release);
  };
  for (;;) {
    if (comm::Communicator* found = find(handle)) return *found;
    if (Closed* closed = find_closed(handle)) {
      // An operator around this one has it, and is waited for.
      const bool inner = marked != nullptr && marked->operators.load() > 1;
      if (inner) return *closed->communicator;
      closed->wanted = closed->wanted || marked != nullptr;
    } else if (const Joining* joining = find_joining(handle)) {
      if (joining->settled) throw Error(joining->facts.health, joining->failure);
    } else {
      refuse_handle();
    }
    mark(UINT32_MAX);
    book().settled.wait(lock);
    mark(1);
  }
}

Facts facts_of(HcclComm handle) {
  const std::lock_guard lock(book().mutex);  // so that nobody destroys it
  if (const Joining* joining = find_joining(handle)) return joining->facts;
  const comm::Communicator* found = find_made(handle);
  if (found == nullptr) refuse_handle();
  return {found->ranks(), found->rank(), found->servers(), found->name(),
          static_cast<HcclResult>(found->health())};
}

namespace {

/// Thread ids are used again, these are not.
uint64_t& maker_of_thread() noexcept {
  static std::atomic<uint64_t> last{0};
  thread_local uint64_t number = ++last;
  return number;
}

}  // namespace

uint64_t maker() noexcept { return maker_of_thread(); }

MakesFor::MakesFor(uint64_t given) : before_(std::exchange(maker_of_thread(), given)) {}

MakesFor::~MakesFor() { maker_of_thread() = before_; }

HcclComm handle_named(int32_t device, const std::string& name) {
  const std::lock_guard lock(book().mutex);
  const auto found = book().names.find({device, name});
  HcclComm handle = nullptr;
  size_t handles = 0;
  if (found != book().names.end()) {
    for (const auto& [rank, holder] : found->second) {
      if (holder.handle == nullptr) continue;
      if (holder.maker == maker()) return holder.handle;
      handle = holder.handle;
      ++handles;
    }
  }
  if (handles < 2) return handle;
  throw Error(HCCL_E_PARA, fmt::format("device {} has {} ranks of the communicator '{}', and this "
                                       "thread made none of them",
                                       device, handles, name));
}

NameUse use_of(HcclComm handle) {
  const std::lock_guard lock(book().mutex);
  const Slot* slot = slot_of(handle);
  const auto found =
      slot == nullptr ? book().uses.end() : book().uses.find(static_cast<uint32_t>(slot - slots));
  return found == book().uses.end() ? NameUse{} : found->second;
}

void for_each(const std::function<void(const NameUse&, comm::Communicator*, Joining*)>& body) {
  const std::lock_guard lock(book().mutex);
  for (const auto& [index, use] : book().uses) {
    body(use, find_made(&slots[index]), find_joining(&slots[index]));
  }
}

std::unique_ptr<comm::Communicator> take(HcclComm handle) noexcept {
  Slot* slot = slot_of(handle);
  if (slot == nullptr) return nullptr;
  const std::lock_guard lock(book().mutex);
  return take(*slot);
}

void require_idle(HcclComm handle) {
  std::unique_lock lock(book().mutex);
  if (find_joining(handle) != nullptr) return;
  Slot* slot = slot_of(handle);
  if (slot == nullptr) refuse_handle();
  Closure closure(*slot);
  if (!closure.exists()) refuse_handle();
  closure.await_idle(lock);
}

std::unique_ptr<comm::Communicator> take_idle(HcclComm handle) {
  Slot* slot = slot_of(handle);
  if (slot == nullptr) return nullptr;
  std::unique_lock lock(book().mutex);
  Closure closure(*slot);
  if (closure.exists()) closure.await_idle(lock);
  return closure.take();
}

}  // namespace weft::api
