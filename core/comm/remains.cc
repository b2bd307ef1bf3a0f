// SPDX-License-Identifier: Apache-2.0
#include "comm/remains.hpp"

#include <algorithm>
#include <deque>
#include <mutex>
#include <utility>

namespace weft::comm {
namespace {

constexpr size_t kAlwaysKept = 2;
// A peer that died after this rank had left never says that it is done.
constexpr size_t kMost = 32;

struct Yard {
  std::mutex mutex;
  std::deque<Remains> graves;  // oldest first
};

Yard& yard() {
  static auto* instance = new Yard;  // leaked: peers may outlive static destructors
  return *instance;
}

bool looked_at(const Remains& remains) {
  return std::any_of(remains.peers.begin(), remains.peers.end(), [&](exec::Board* peer) {
    return peer->identity.magic.load(std::memory_order_acquire) == remains.magic &&
           peer->progress.passed.load(std::memory_order_acquire) < remains.last_call;
  });
}

void free_memory(const Remains& remains) {
  remains.transport->release(remains.endpoint, remains.board);
  remains.transport->endpoint_close(remains.endpoint);
}

void sweep(std::deque<Remains>& graves, size_t kept) {
  while (graves.size() > kMost) {
    free_memory(graves.front());
    graves.pop_front();
  }
  for (auto grave = graves.begin(); graves.size() > kept && grave != graves.end();) {
    if (looked_at(*grave)) {
      ++grave;
    } else {
      free_memory(*grave);
      grave = graves.erase(grave);
    }
  }
}

}  // namespace

void bury(Remains remains) {
  const std::lock_guard lock(yard().mutex);
  yard().graves.push_back(std::move(remains));
  sweep(yard().graves, kAlwaysKept);
}

void clear_remains() noexcept {
  const std::lock_guard lock(yard().mutex);
  sweep(yard().graves, 0);
}

}  // namespace weft::comm
