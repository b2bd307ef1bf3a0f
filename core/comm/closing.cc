// SPDX-License-Identifier: Apache-2.0
#include "comm/closing.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>

#include "base/thread.hpp"

namespace weft::comm {
namespace {

using Clock = std::chrono::steady_clock;

// Longer than a peer takes to learn that this rank has left, and to abort what waits for it.
constexpr std::chrono::seconds kRest{5};

// Of more, the oldest are closed before: their memory is large, and their peers have had time while
// newer communicators were made.
constexpr size_t kMost = 2;

struct Closing {
  const weft_transport* transport;
  void* endpoint;
  Clock::time_point due;
};

struct Yard {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Closing> waiting;  // in the order in which they are due
  bool has_thread = false;
};

Yard& yard() {
  static auto* instance = new Yard;  // leaked: its thread may outlive static destructors
  return *instance;
}

void close_when_due() {
  Yard& all = yard();
  std::unique_lock lock(all.mutex);
  while (!all.waiting.empty()) {
    const Closing first = all.waiting.front();
    if (Clock::now() < first.due) {
      all.changed.wait_until(lock, first.due);
      continue;
    }
    all.waiting.pop_front();
    lock.unlock();
    first.transport->endpoint_close(first.endpoint);
    lock.lock();
  }
  all.has_thread = false;
}

void start_closer() {
  try {
    start_detached(close_when_due);
    yard().has_thread = true;
  } catch (const std::exception&) {
    yard().has_thread = false;  // the next one tries again
  }
}

}  // namespace

void close_later(const weft_transport& transport, void* endpoint) noexcept {
  Closing oldest{};
  {
    const std::lock_guard lock(yard().mutex);
    std::deque<Closing>& waiting = yard().waiting;
    try {
      waiting.push_back({&transport, endpoint, Clock::now() + kRest});
    } catch (const std::exception&) {
      return;  // no memory: it stays open
    }
    if (waiting.size() > kMost) {
      oldest = waiting.front();
      waiting.pop_front();
    }
    if (!yard().has_thread) start_closer();
  }
  if (oldest.endpoint != nullptr) oldest.transport->endpoint_close(oldest.endpoint);
}

bool close_now() noexcept {
  std::deque<Closing> all;
  {
    const std::lock_guard lock(yard().mutex);
    all.swap(yard().waiting);
  }
  yard().changed.notify_all();
  for (const Closing& each : all) each.transport->endpoint_close(each.endpoint);
  return !all.empty();
}

}  // namespace weft::comm
