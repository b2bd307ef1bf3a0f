// SPDX-License-Identifier: Apache-2.0
// Memory that the caller registered with a communicator, and its exchange with other ranks. Nothing
// of it is needed to reach memory: buffers are found by their addresses, whoever registered them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "control/control.hpp"

namespace weft::comm {

/// Of one rank. Any thread.
class Registrations {
 public:
  /// Stands in front of its messages, where those of memory groups have their space.
  static constexpr uint32_t kSpace = UINT32_MAX;

  /// The session outlives it.
  Registrations(control::Session& session, uint32_t rank, uint32_t ranks);
  Registrations(const Registrations&) = delete;
  Registrations& operator=(const Registrations&) = delete;

  /// A handle that no other registration of the process ever has.
  [[nodiscard]] void* add();
  /// Throws Error (HCCL_E_PARA) if the handle is none of this communicator.
  void remove(void* handle);

  /// Blocks until every rank in `peers`, each of which is there once, has made an exchange with
  /// this one: the n-th of one meets the n-th of the other. Throws Error: HCCL_E_PARA for a handle
  /// as above, HCCL_E_REMOTE if a peer has left or died, HCCL_E_TIMEOUT with the ranks that are
  /// missing. After the last two no exchange is possible any more.
  void exchange(void* handle, const std::set<uint32_t>& peers, std::chrono::milliseconds timeout);

  /// Some exchange has not ended.
  [[nodiscard]] bool busy() const noexcept {
    return exchanging_.load(std::memory_order_acquire) != 0;
  }

  // On the control thread.
  void on_message(uint32_t from);
  void on_peer_gone(uint32_t rank);
  void on_cut_off(const std::string& why);

 private:
  struct Side {
    uint64_t sent = 0;  // exchanges with this peer that this rank has begun
    uint64_t arrived = 0;
    bool gone = false;
  };

  void require(void* handle) const;
  void begin(void* handle, const std::set<uint32_t>& peers);
  [[nodiscard]] std::vector<uint32_t> missing(const std::set<uint32_t>& peers) const;
  [[noreturn]] void fail(HcclResult code, const std::string& text);

  control::Session& session_;
  const uint32_t rank_;
  std::atomic<uint32_t> exchanging_{0};  // threads in exchange()
  std::mutex exchange_;                  // one at a time
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<void*> handles_;
  std::vector<Side> sides_;  // by rank
  std::string cut_off_;      // why nothing arrives any more
  HcclResult failure_ = HCCL_SUCCESS;
  std::string failure_text_;
};

}  // namespace weft::comm
