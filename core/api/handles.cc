// SPDX-License-Identifier: Apache-2.0
#include "api/handles.hpp"

#include <fmt/format.h>

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "api/operators.hpp"
#include "base/error.hpp"

namespace weft::api {

Slot slots[kMaxCommunicators];

namespace {

struct Book {
  std::mutex mutex;
  uint32_t fresh = 0;  // slots never used so far
  std::deque<uint32_t>
      free;  // used before; the oldest is taken first, so that a stale handle stays stale for long
  std::map<std::pair<int32_t, std::string>, std::map<uint32_t, std::string>>
      names;  // by device and name: the origin by rank
  std::map<int32_t, std::map<uint32_t, std::string>> tables;  // by device: the rank table by rank
  std::map<uint32_t, NameUse> uses;                           // by slot
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
std::unique_ptr<comm::Communicator> take(Slot& slot) noexcept {
  std::unique_ptr<comm::Communicator> communicator(
      slot.communicator.exchange(nullptr, std::memory_order_acq_rel));
  if (communicator == nullptr) return nullptr;
  const auto index = static_cast<uint32_t>(&slot - slots);
  book().free.push_back(index);
  forget(book().uses[index]);
  book().uses.erase(index);
  return communicator;
}

void refuse_busy(const comm::Communicator& communicator) {
  if (!communicator.busy()) return;
  throw Error(HCCL_E_AGAIN,
              "a call of this communicator has not ended; synchronise its streams and try again");
}

}  // namespace

void reserve_name(const NameUse& use) {
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
  const bool other = !ranks.empty() && ranks.begin()->second != use.origin;
  if (other || !ranks.emplace(use.rank, use.origin).second) {
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

void release_name(const NameUse& use) noexcept {
  const std::lock_guard lock(book().mutex);
  forget(use);
}

HcclComm add(std::unique_ptr<comm::Communicator> communicator, const NameUse& use) {
  const std::lock_guard lock(book().mutex);
  uint32_t index = book().fresh;
  if (index < kMaxCommunicators) {
    ++book().fresh;
  } else if (!book().free.empty()) {
    index = book().free.front();
    book().free.pop_front();
  } else {
    throw Error(
        HCCL_E_MEMORY,
        fmt::format("this process has {} communicators, the most there can be; destroy some",
                    kMaxCommunicators));
  }
  book().uses[index] = use;
  slots[index].communicator.store(communicator.release(), std::memory_order_release);
  return &slots[index];
}

void for_each(const std::function<void(comm::Communicator&)>& body) {
  const std::lock_guard lock(book().mutex);
  for (const auto& [index, use] : book().uses) {
    comm::Communicator* each = slots[index].communicator.load(std::memory_order_acquire);
    if (each != nullptr) body(*each);
  }
}

std::unique_ptr<comm::Communicator> take(HcclComm handle) noexcept {
  Slot* slot = slot_of(handle);
  if (slot == nullptr) return nullptr;
  const std::lock_guard lock(book().mutex);
  return take(*slot);
}

void require_idle(HcclComm handle) {
  const std::lock_guard lock(book().mutex);
  const comm::Communicator* found = find(handle);
  if (found == nullptr) refuse_handle();
  refuse_busy(*found);
}

std::unique_ptr<comm::Communicator> take_idle(HcclComm handle) {
  Slot* slot = slot_of(handle);
  if (slot == nullptr) return nullptr;
  const std::lock_guard lock(book().mutex);
  const comm::Communicator* found = slot->communicator.load(std::memory_order_acquire);
  if (found != nullptr) refuse_busy(*found);
  return take(*slot);
}

}  // namespace weft::api
