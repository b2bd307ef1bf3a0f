// SPDX-License-Identifier: Apache-2.0
#include "comm/registrations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.hpp"

namespace weft::comm {
namespace {

/// Counts a thread while it lives.
class Counted {
 public:
  explicit Counted(std::atomic<uint32_t>& count) : count_(count) {
    count_.fetch_add(1, std::memory_order_acq_rel);
  }
  ~Counted() { count_.fetch_sub(1, std::memory_order_acq_rel); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<uint32_t>& count_;
};

}  // namespace

Registrations::Registrations(control::Session& session, uint32_t rank, uint32_t ranks)
    : session_(session), rank_(rank), sides_(ranks) {}

void* Registrations::add() {
  static std::atomic<uintptr_t> last{0};
  const std::lock_guard lock(mutex_);
  return *handles_.insert(reinterpret_cast<void*>(++last)).first;
}

void Registrations::remove(void* handle) {
  const std::lock_guard lock(mutex_);
  require(handle);
  handles_.erase(handle);
}

/// With the lock held.
void Registrations::require(void* handle) const {
  if (handles_.contains(handle)) return;
  throw Error(HCCL_E_PARA,
              "the handle is no registration of this communicator (deregistered, or another's?)");
}

/// With the lock held.
void Registrations::begin(void* handle, const std::set<uint32_t>& peers) {
  require(handle);
  if (failure_ != HCCL_SUCCESS) {
    throw Error(failure_, "an earlier exchange of memory has failed: " + failure_text_);
  }
  for (const uint32_t peer : peers) ++sides_[peer].sent;
}

/// With the lock held.
std::vector<uint32_t> Registrations::missing(const std::set<uint32_t>& peers) const {
  std::vector<uint32_t> ranks;
  std::copy_if(peers.begin(), peers.end(), std::back_inserter(ranks),
               [&](uint32_t peer) { return sides_[peer].arrived < sides_[peer].sent; });
  return ranks;
}

/// With the lock held.
void Registrations::fail(HcclResult code, const std::string& text) {
  failure_ = code;
  failure_text_ = text;
  throw Error(code, text);
}

void Registrations::exchange(void* handle, const std::set<uint32_t>& given,
                             std::chrono::milliseconds timeout) {
  const Counted counted(exchanging_);  // first: nothing of this is touched behind its end
  const std::lock_guard one_at_a_time(exchange_);
  std::set<uint32_t> peers = given;
  peers.erase(rank_);
  {
    const std::lock_guard lock(mutex_);
    begin(handle, peers);
  }
  try {
    for (const uint32_t peer : peers) session_.post(peer, std::as_bytes(std::span(&kSpace, 1)));
  } catch (const Error& error) {
    const std::lock_guard lock(mutex_);
    fail(error.code(), error.what());
  }
  std::unique_lock lock(mutex_);
  std::vector<uint32_t> left;
  std::vector<uint32_t> gone;
  const bool over = changed_.wait_for(lock, timeout, [&] {
    left = missing(peers);
    gone.clear();
    std::copy_if(left.begin(), left.end(), std::back_inserter(gone),
                 [&](uint32_t peer) { return sides_[peer].gone; });
    return left.empty() || !gone.empty() || !cut_off_.empty();
  });
  if (left.empty()) return;
  if (!gone.empty()) {
    fail(HCCL_E_REMOTE, fmt::format("rank {} has left or died before it exchanged memory with "
                                    "this one",
                                    gone.front()));
  }
  if (over) fail(HCCL_E_REMOTE, cut_off_);
  fail(HCCL_E_TIMEOUT,
       fmt::format("ranks {} did not exchange memory with this one within {} s",
                   fmt::join(left, ", "), static_cast<double>(timeout.count()) / 1000));
}

void Registrations::on_message(uint32_t from) {
  {
    const std::lock_guard lock(mutex_);
    ++sides_[from].arrived;
  }
  changed_.notify_all();
}

void Registrations::on_peer_gone(uint32_t rank) {
  {
    const std::lock_guard lock(mutex_);
    sides_[rank].gone = true;
  }
  changed_.notify_all();
}

void Registrations::on_cut_off(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    cut_off_ = why;
  }
  changed_.notify_all();
}

}  // namespace weft::comm
