// SPDX-License-Identifier: Apache-2.0
// A communicator: one rank's membership of a group, with its endpoint, plans and executor. All
// state hangs here.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "comm/call.hpp"
#include "comm/library.hpp"
#include "comm/plan_cache.hpp"
#include "comm/staging.hpp"
#include "config/policy.hpp"
#include "control/control.hpp"
#include "exec/executor.hpp"

namespace weft::comm {

/// What a caller may choose; defaults filled in from environment, policy and built-in values by the
/// caller.
struct Options {
  std::string name;
  uint64_t scratch_bytes = 0;
  bool deterministic = false;
  config::HcclAlgo algo;
  std::chrono::milliseconds connect_timeout{0};
  std::chrono::milliseconds exec_timeout{0};
};

struct LastCall {
  const exec::ExecPlan* plan = nullptr;  // null before the first call
  bool staged_in = false;
  bool staged_out = false;
};

class Communicator final : private control::Listener {
 public:
  /// Collective over all ranks; blocks until all have joined. The calling thread's current device
  /// becomes the communicator's. Throws Error.
  static std::unique_ptr<Communicator> create(const HcclRootInfo& root, uint32_t ranks,
                                              uint32_t rank,
                                              std::shared_ptr<const config::Policy> policy,
                                              Options options);
  ~Communicator() override;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] uint32_t rank() const noexcept { return rank_; }
  [[nodiscard]] uint32_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] int32_t device() const noexcept { return device_; }
  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }

  /// Puts the call on the stream. The caller has checked the arguments. Calls of one communicator
  /// must be ordered by the caller. A shape seen before costs no allocation, lock or string. Throws
  /// Error.
  void issue(const Call& call, void* stream);

  /// Some call has not ended yet.
  [[nodiscard]] bool busy() const noexcept { return executor_->ended() != next_task_; }
  [[nodiscard]] int32_t health() const noexcept { return executor_->health(); }
  [[nodiscard]] const LastCall& last_call() const noexcept { return last_; }

 private:
  Communicator(uint32_t ranks, uint32_t rank, std::shared_ptr<const config::Policy> policy,
               Options options);

  void open_endpoint();
  void join(const HcclRootInfo& root);
  void connect();
  [[nodiscard]] exec::Setup executor_setup(const std::vector<weft_peer_view>& views) const;
  exec::ExecPlan* make_plan(const CallKey& key);
  exec::Task& next_task();
  /// Throws Error if this communicator can do no more calls.
  void check_health() const;
  LastCall place_buffers(const Call& call, exec::Task& task);
  [[nodiscard]] bool visible(const void* address, uint64_t bytes) const noexcept {
    const uint64_t offset = reinterpret_cast<uint64_t>(address) - info_.window_base;
    return (offset < info_.window_size && bytes <= info_.window_size - offset) ||
           info_.all_local != 0;
  }

  void on_peer_lost(uint32_t rank, const std::string& what) noexcept override;
  void on_peer_left(uint32_t rank) noexcept override;

  const uint32_t ranks_;
  const uint32_t rank_;
  const std::shared_ptr<const config::Policy> policy_;
  const Options options_;
  OpenTransport transport_;
  const int32_t pid_;
  int32_t device_ = -1;

  void* endpoint_ = nullptr;
  weft_endpoint_info info_{};
  exec::Board* board_ = nullptr;
  uint64_t magic_ = 0;  // of this communicator's boards
  std::unique_ptr<control::Session> session_;
  std::unique_ptr<exec::Executor> executor_;
  std::unique_ptr<Staging> staging_;

  static constexpr uint64_t kTasks = 1024;  // calls that may be on their way at once

  PlanCache plans_;
  std::unique_ptr<exec::Task[]> tasks_;
  std::atomic<uint64_t> next_task_ = 0;  // atomic for busy() on another thread
  uint64_t next_call_ = 1;
  LastCall last_;
};

}  // namespace weft::comm
