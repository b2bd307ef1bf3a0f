// SPDX-License-Identifier: Apache-2.0
// What a rank knows about the health of its communicator: which peers are lost or have left, why it
// or another rank gave up. Shared by all that waits for peers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "comm/call.hpp"
#include "exec/address_map.hpp"
#include "exec/board.hpp"
#include "hccl/hccl_types.h"
#include "weft/transport.h"

namespace weft::exec {

enum class PeerState : uint8_t { kAlive, kLeft, kLost };

struct Setup {
  const weft_transport* transport = nullptr;
  uint32_t rank = 0;
  uint32_t ranks = 0;
  std::vector<Board*> boards;  // of all ranks, at addresses of this process
  uint64_t magic = Board::kMagic;
  std::unique_ptr<AddressMap> map;      // places in the memory of peers
  std::vector<std::string> peer_names;  // "rank 3 (host a, pid 17)"
  uint64_t scratch_bytes = 0;
  uint32_t spins = 0;                    // polls of a signal before the thread is given back
  std::chrono::milliseconds timeout{0};  // of a wait; 0 = none
  std::chrono::milliseconds monitor{0};  // longer waits are logged; 0 = none
  bool diagnose = false;                 // log a failure when it happens
  bool times_calls = false;              // somebody may want the times of calls: Task::times
  std::string label;                     // stands in front of what is told of failures
};

/// One thing that is waited for, over many resumes of a task.
struct Wait {
  uint32_t rounds = 0;  // resumes so far
  std::chrono::steady_clock::time_point since;
};

/// Data path: nothing here throws but for the texts of a failure, when all is lost anyway.
class Watch {
 public:
  explicit Watch(const Setup& setup);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// HCCL_SUCCESS, or why this communicator can do no more calls; a lost peer counts.
  [[nodiscard]] int32_t health() const noexcept {
    const int32_t code = failure();
    return code == 0 && any_lost() ? HCCL_E_REMOTE : code;
  }
  /// The same for a call that is to begin: a suspended communicator takes none.
  [[nodiscard]] int32_t readiness() const noexcept {
    const int32_t code = failure();
    if (code != 0) return code;
    const uint32_t marks = marks_.load(std::memory_order_acquire);
    return marks == 0 ? 0 : (marks & kLost) != 0 ? HCCL_E_REMOTE : HCCL_E_SUSPENDING;
  }
  [[nodiscard]] std::string health_text() const { return setup_.label + reason(); }
  /// The same without the communicator's name.
  [[nodiscard]] std::string reason() const;
  /// The same, but a lost peer counts only once something needed it.
  [[nodiscard]] int32_t failure() const noexcept {
    return failure_.load(std::memory_order_acquire);
  }

  /// From the control plane, on any thread.
  void peer_lost(uint32_t rank, const std::string& what);
  void peer_left(uint32_t rank) noexcept;
  [[nodiscard]] PeerState state(uint32_t peer) const noexcept {
    return states_[peer].load(std::memory_order_acquire);
  }
  [[nodiscard]] bool any_lost() const noexcept {
    return (marks_.load(std::memory_order_acquire) & kLost) != 0;
  }
  [[nodiscard]] bool suspended() const noexcept {
    return (marks_.load(std::memory_order_acquire) & kSuspended) != 0;
  }
  void suspend() noexcept { marks_.fetch_or(kSuspended, std::memory_order_acq_rel); }
  void resume() noexcept { marks_.fetch_and(~kSuspended, std::memory_order_acq_rel); }
  /// Boards of the other ranks that are neither lost nor left.
  [[nodiscard]] std::vector<Board*> living_peers() const;
  /// The board of a rank is still that of this communicator, or `closed`: its rank has left.
  [[nodiscard]] bool is_open(uint32_t rank) const noexcept {
    return setup_.boards[rank]->identity.magic.load(std::memory_order_acquire) == setup_.magic;
  }
  [[nodiscard]] bool is_closed(uint32_t rank) const noexcept;
  /// Open, and its rank has not given up.
  [[nodiscard]] bool takes_part(uint32_t rank) const noexcept {
    return is_open(rank) &&
           setup_.boards[rank]->identity.gave_up.load(std::memory_order_acquire) == 0;
  }

  /// Counts a resume that found nothing. True if it is time to look around.
  bool tired(Wait& wait) const noexcept;
  /// Looks for what other ranks raised, or another call of this rank. Returns the failure, or 0.
  int32_t look_at_boards() noexcept;
  /// Whether a wait for `peer` is hopeless: it is gone, or another one has been for long. What it
  /// wrote before counts: look for it once more, then give up with raise_remote.
  [[nodiscard]] bool hopeless(const Wait& wait, uint32_t peer) const noexcept;
  /// The end of a wait whose time is over. Returns the failure, or 0.
  int32_t check_time(const Wait& wait, uint32_t peer, uint64_t call,
                     const comm::CallKey& key) noexcept;

  /// Logs a wait that takes longer than the interval to monitor.
  void tell_of_wait(std::chrono::steady_clock::time_point since, std::string_view for_whom,
                    uint64_t call, const comm::CallKey& key) noexcept;

  /// Give up, and tell all ranks why. They return the failure.
  int32_t raise(const Fault& fault) noexcept;
  /// Because `peer` is gone, or for the reason that another rank tells.
  int32_t raise_remote(uint32_t peer, uint64_t call, const comm::CallKey& key) noexcept;
  /// For a reason that is told as it is; other ranks do not learn it.
  void give_up(int32_t code, const std::string& text) noexcept { set_failure(code, text); }
  /// For a task that its stream dropped.
  int32_t raise_dropped(uint64_t call, const comm::CallKey& key) noexcept;

 private:
  void publish(const Fault& fault) noexcept;
  int32_t adopt(const Fault& fault) noexcept;
  int32_t raise_lost(uint32_t peer, uint64_t call, const comm::CallKey& key) noexcept;
  void set_failure(int32_t code, const std::string& text) noexcept;
  [[nodiscard]] std::string diagnosis() const;
  [[nodiscard]] std::string explain(const Fault& fault) const;

  static constexpr uint32_t kLost = 1;       // some peer is
  static constexpr uint32_t kSuspended = 2;  // by the caller

  const Setup& setup_;
  std::unique_ptr<std::atomic<PeerState>[]> states_;
  std::atomic<uint32_t> marks_{0};  // one word, since every call looks at it
  std::atomic<int32_t> failure_{0};
  std::atomic<std::chrono::steady_clock::time_point> told_{};  // when a wait was logged last
  mutable std::mutex mutex_;  // guards the texts and this rank's Fault; taken only on failure
  std::string failure_text_;
  std::string lost_text_;
  uint32_t lost_rank_ = 0;  // the first one
};

}  // namespace weft::exec
