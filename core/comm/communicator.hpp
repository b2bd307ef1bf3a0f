// SPDX-License-Identifier: Apache-2.0
// A communicator: one rank's membership of a group, with its endpoint, plans and executor. All
// state hangs here.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/call.hpp"
#include "comm/doubts.hpp"
#include "comm/experiment_reporter.hpp"
#include "comm/experiments.hpp"
#include "comm/invitations.hpp"
#include "comm/library.hpp"
#include "comm/memory_check.hpp"
#include "comm/memory_group.hpp"
#include "comm/message.hpp"
#include "comm/message_staging.hpp"
#include "comm/plan_cache.hpp"
#include "comm/policy_use.hpp"
#include "comm/registrations.hpp"
#include "comm/schedule_cache.hpp"
#include "comm/staging.hpp"
#include "comm/tasks_engine.hpp"
#include "config/policy.hpp"
#include "config/values.hpp"
#include "control/control.hpp"
#include "exec/executor.hpp"
#include "exec/messenger.hpp"

namespace weft::comm {

/// What a caller may choose; defaults filled in from environment, policy and built-in values by the
/// caller.
struct Options {
  std::string name;
  uint64_t scratch_bytes = 0;
  uint32_t deterministic = 0;                   // 0, 1 or 2
  uint64_t window_bytes = WEFT_NOT_CONFIGURED;  // hcclSymWinMaxMemSizePerRank
  config::HcclAlgo algo;
  std::chrono::milliseconds connect_timeout{0};
  std::chrono::milliseconds exec_timeout{0};
  bool check_memory = false;   // WEFT_CHECK=memory
  bool early_calls = true;     // WEFT_EARLY_CALLS
  std::string experiments;     // WEFT_EXPERIMENTS
  std::string buffer_name;     // hcclBufferName: must be the same on all ranks
  uint32_t op_expansion = 0;   // hcclOpExpansionMode: without effect
  bool retries_links = false;  // level 2 of hcclRetryEnable: without effect
  control::FaultDetection detection;
  bool entry_log = false;                // log every call
  config::DebugLogs debug;               // log more
  std::chrono::milliseconds monitor{0};  // log waits that take longer; 0: do not
  bool diagnose = false;                 // log a failure when it happens
  std::vector<std::string> servers;      // that the ranks are on, by rank; empty: their hosts
  bool sub = false;                      // of another communicator: errors tell its name
};

/// How a buffer gets from one rank to another.
enum class Way : uint8_t { kNone, kWindow, kRange, kHeap, kLocal, kOwn, kStaged };
inline constexpr size_t kWays = 7;
[[nodiscard]] const char* way_name(Way way) noexcept;

/// One buffer of a call, as the caller gave it.
struct Buffer {
  const void* address = nullptr;
  uint64_t bytes = 0;  // from the beginning to the end of the last block
  Way way = Way::kNone;
};

struct LastCall {
  std::string_view algorithm;  // empty before the first call; valid until the next one
  std::string_view source;
  uint32_t pieces = 1;
  Buffer in;
  Buffer out;
  bool as_tasks = false;
};

class Communicator final : private control::Listener {
 public:
  /// Collective over all ranks; blocks until all have joined. The calling thread's current device
  /// becomes the communicator's. Throws Error.
  static std::unique_ptr<Communicator> create(const HcclRootInfo& root, uint32_t ranks,
                                              uint32_t rank,
                                              std::shared_ptr<const config::Policy> policy,
                                              Options options);
  /// The local half of create(): takes device and memory and waits for nobody, after the proofs
  /// that the policy asks for. Throws Error.
  static std::unique_ptr<Communicator> open(uint32_t ranks, uint32_t rank,
                                            std::shared_ptr<const config::Policy> policy,
                                            Options options);
  /// The other half, once, with its device current: blocks until all ranks have joined. Throws
  /// Error.
  void join(const HcclRootInfo& root, std::chrono::milliseconds timeout);

  ~Communicator() override;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] uint32_t rank() const noexcept { return rank_; }
  [[nodiscard]] uint32_t ranks() const noexcept { return ranks_; }
  [[nodiscard]] int32_t device() const noexcept { return device_; }
  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
  [[nodiscard]] const Options& options() const noexcept { return options_; }

  [[nodiscard]] const std::string& server_of(uint32_t rank) const noexcept;
  /// How many there are.
  [[nodiscard]] uint32_t servers() const;
  /// On each of them; 0 if they differ.
  [[nodiscard]] uint32_t ranks_per_server() const;

  /// Puts the call on the stream. The caller has checked the arguments. Calls of one communicator
  /// must be ordered by the caller. A shape seen before costs no allocation, lock or string, but
  /// for the first use of each task by a call with lengths. Throws Error.
  void issue(const Call& call, void* stream);

  /// Puts sends and receives on the stream, none of which keeps another from going on. Those of one
  /// pair of ranks meet in their order. As above, but for what a rank sends to itself: throws Error
  /// (HCCL_E_PARA) if its sends and receives do not match.
  void issue(std::span<const Message> messages, void* stream);

  /// While it lives, the communicator's device is current on this thread.
  class Scope {
   public:
    /// Throws Error.
    explicit Scope(const Communicator& entered);
    ~Scope() { table_.leave(endpoint_, previous_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const weft_transport& table_;
    void* const endpoint_;
    void* previous_ = nullptr;
  };

  /// Waits until all that is on the stream is done. Throws Error.
  void synchronize(void* stream) const;

  /// Before the end of a communicator that has made its calls: if it is the last one in this
  /// process under a policy that WEFT_POLICY names, logs that none of its rules has had an effect.
  void tell_idle_policy();

  /// What experiments have found so far, to the log and, where they are asked for, to files. Any
  /// thread.
  void tell_experiments() const;
  [[nodiscard]] std::vector<ExperimentReport> experiment_reports() const;

  /// 0, 1 or 2, from the next call on. Any thread.
  void set_deterministic(uint32_t level) noexcept {
    deterministic_.store(level, std::memory_order_relaxed);
  }
  [[nodiscard]] uint32_t deterministic() const noexcept {
    return deterministic_.load(std::memory_order_relaxed);
  }

  /// Until resume(), issue() throws Error (HCCL_E_SUSPENDING). What is on its way goes on.
  void suspend() noexcept { watch_->suspend(); }
  void resume() noexcept { watch_->resume(); }
  /// Throws Error if this communicator has failed: that cannot be undone.
  void require_recovered() const;
  [[nodiscard]] bool suspended() const noexcept { return watch_->suspended(); }
  /// Some call was issued before.
  [[nodiscard]] bool has_called() const noexcept {
    return std::any_of(calls_by_way_.begin(), calls_by_way_.end(),
                       [](uint64_t calls) { return calls != 0; });
  }

  /// issue() may wait for room on a stream, and so for peers.
  [[nodiscard]] bool issue_waits() const noexcept { return tasks_engine_ != nullptr; }

  /// Some call has not ended yet.
  [[nodiscard]] bool busy() const noexcept {
    return any_on_the_way() || messenger_->busy() || registrations_->busy() ||
           (tasks_engine_ != nullptr && tasks_engine_->busy());
  }
  /// Calls that have ended, as far as busy() has seen.
  [[nodiscard]] uint64_t ended() const noexcept {
    return executor_->done() + messenger_->ended() +
           (tasks_engine_ != nullptr ? tasks_engine_->ended() : 0);
  }
  /// HCCL_SUCCESS, or why this communicator can do no more calls; looks at what peers raised.
  [[nodiscard]] int32_t health() const noexcept;
  [[nodiscard]] LastCall last_call() const noexcept;
  /// Why a buffer of the last call did not travel in the first way of the policy's order; empty if
  /// it did.
  [[nodiscard]] std::string why(const Buffer& buffer) const;
  [[nodiscard]] const PlanCache& plans() const noexcept { return plans_; }
  /// Calls so far by the slowest way that one of their buffers took.
  [[nodiscard]] const std::array<uint64_t, kWays>& calls_by_way() const noexcept {
    return calls_by_way_;
  }

  /// The first memory plugin that offers a family (WEFT_MEMORY_*). Throws Error
  /// (HCCL_E_NOT_SUPPORT).
  [[nodiscard]] MemoryGroup& memory(uint32_t family) const;

  [[nodiscard]] Registrations& registrations() noexcept { return *registrations_; }
  /// Where its ranks meet for sub communicators.
  [[nodiscard]] const std::shared_ptr<Invitations>& invitations() const noexcept {
    return invitations_;
  }

  /// With WEFT_CHECK=memory: throws Error (HCCL_E_PARA) if the argument of a function of windows or
  /// ranges is the address of a pointer to the memory that was meant.
  void check_argument(const char* name, const void* address) const;

 private:
  Communicator(uint32_t ranks, uint32_t rank, std::shared_ptr<const config::Policy> policy,
               Options options);

  void open_endpoint();
  [[nodiscard]] uint64_t scratch_bytes() const noexcept;
  void allocate_board();
  [[nodiscard]] std::vector<std::byte> describe_endpoints() const;
  void meet(const HcclRootInfo& root, std::chrono::milliseconds timeout);
  void connect();
  [[nodiscard]] bool has_both_engines() const noexcept {
    return board_ != nullptr && tasks_engine_ != nullptr;
  }
  std::vector<weft_peer_view> connect(void* endpoint, bool second, weft_endpoint_info& info) const;
  void set_up(const std::vector<weft_peer_view>& views);
  void follow_deterministic();
  [[nodiscard]] CallKey plan_key(CallKey key) const;
  exec::ExecPlan* make_plan(const CallKey& key);
  /// Whether a call is one for the tasks engine; if not though the policy asks for it, `note` says
  /// why. Throws Error (HCCL_E_NOT_SUPPORT) if no engine can do it.
  bool choose_engine(const CallKey& key, std::string& note) const;
  [[nodiscard]] uint64_t choose_task(const exec::Prepared& wanted) const;
  exec::Task& next_task(const exec::Prepared& wanted);
  LastCall prepare(const Call& call, exec::ExecPlan& plan, exec::Task& task);
  [[nodiscard]] config::Query query_of(const CallKey& key) const;
  /// Throws Error.
  [[nodiscard]] config::Choice choose(const CallKey& key);
  [[nodiscard]] schedule::Geometry geometry_of(const CallKey& key) const noexcept;
  void open_experiments();
  [[nodiscard]] std::string doubt(const config::Rule& arm, const CallKey& key);
  schedule::Exposure exposure(exec::ExecPlan& plan);
  void forget(exec::Task& task) noexcept;
  bool is_independent(const exec::Task& task) const;
  /// Throws Error; then the task is free again.
  void submit(exec::Task& task, Trial* trial, void* stream);
  /// Throws Error if this communicator can do no more calls, or is suspended.
  void check_health() const;
  /// Bytes of a rank's buffers from their beginning to the end of their last block.
  struct Extent {
    uint64_t in = 0;
    uint64_t out = 0;
  };
  /// How a buffer of this rank can be reached by its peers as it is; kStaged if it cannot.
  struct Found {
    Way way = Way::kNone;
    uint64_t shift = 0;  // makes its addresses words of the AddressMap
  };
  Extent set_lengths(const Call& call, exec::Task& task);
  [[nodiscard]] bool overlaps_badly(const Call& call, const exec::Task& task,
                                    const Extent& extent) const;
  /// The tasks engine's way of a call whose plan is there.
  void issue_tasks(const Call& call, const exec::ExecPlan& plan, void* stream);
  // With WEFT_CHECK=memory. What is wrong throws Error (HCCL_E_PARA) here and fails the call on all
  // other ranks, which would wait for this one.
  void check_memory(const Call& call, const Extent& extent, const exec::Task& task);
  void check_memory(std::span<const Message> messages);
  void refuse(const MemoryCheck::Finding& finding, uint64_t number, const CallKey& key);
  LastCall place_buffers(const Call& call, const Extent& extent, exec::Task& task);
  [[nodiscard]] Found find_buffer(const void* address, uint64_t bytes) const noexcept;
  /// The last answer, good as long as the map has this version.
  struct Answer {
    const void* address = nullptr;
    uint64_t bytes = 0;
    uint64_t version = UINT64_MAX;
    Found found;
  };
  const Found& find_buffer(Answer& last, const void* address, uint64_t bytes) const noexcept;
  [[nodiscard]] bool in_heap(uint64_t address, uint64_t bytes) const noexcept {
    const uint64_t offset = address - info_.window_base;
    return offset < info_.window_size && bytes <= info_.window_size - offset;
  }
  void attach_memories();
  [[nodiscard]] bool any_on_the_way() const noexcept;
  [[nodiscard]] bool own_in_use(uint64_t address, uint64_t bytes) const noexcept;
  /// Keeps what was done for last_call(), the counters and the trace.
  void remember(const LastCall& call, const CallKey& key);
  // With HCCL_ENTRY_LOG_ENABLE.
  void log_entry(const Call& call, const void* stream) const;
  void log_entry(std::span<const Message> messages, const void* stream) const;
  // With HCCL_DEBUG_CONFIG.
  void log_choice(const exec::ExecPlan& plan) const;
  void log_resources() const;

  void on_peer_lost(uint32_t rank, const std::string& what) noexcept override;
  void on_peer_left(uint32_t rank) noexcept override;
  void on_message(uint32_t from, std::span<const std::byte> bytes) noexcept override;
  void on_cut_off(const std::string& why) noexcept override;

  const uint32_t ranks_;
  const uint32_t rank_;
  const std::shared_ptr<const config::Policy> policy_;
  const Options options_;
  std::shared_ptr<PolicyUse> policy_use_;  // null: nobody chose the policy
  OpenTransport transport_;
  const std::vector<OpenMemory> opened_;  // memory plugins in the order of the policy; null: heap
  const int32_t pid_;
  const bool traces_;  // tells of every call, in the trace or the log
  int32_t device_ = -1;
  uint32_t hosts_ = 0;  // for the policy, found once: servers() and ranks_per_server()
  uint32_t ranks_per_host_ = 0;
  std::atomic<uint32_t> deterministic_;
  uint32_t deterministic_of_plans_;  // as it was when they were made

  // That of the direct engine, or of the tasks engine where the transport has no direct one.
  void* endpoint_ = nullptr;
  weft_endpoint_info info_{};
  exec::Board* board_ = nullptr;  // null without the direct engine
  uint64_t magic_ = 0;            // of this communicator's boards
  std::unique_ptr<control::Session> session_;
  std::unique_ptr<Registrations> registrations_;
  std::shared_ptr<Invitations> invitations_;
  exec::Setup setup_;
  std::unique_ptr<exec::Watch> watch_;
  std::unique_ptr<exec::Executor> executor_;
  std::unique_ptr<Staging> staging_;
  std::unique_ptr<exec::Messenger> messenger_;
  std::unique_ptr<MessageStaging> message_staging_;
  std::unique_ptr<MemoryCheck> memory_check_;           // only with WEFT_CHECK=memory
  uint64_t batches_ = 0;                                // of messages that it looked at
  Surroundings around_;                                 // of the memory groups
  std::vector<std::unique_ptr<MemoryGroup>> memories_;  // by space - 1
  std::vector<uint32_t> order_;                         // spaces, in the order of the policy
  std::unique_ptr<TasksEngine> tasks_engine_;  // if the policy asks for it; owns its endpoint

  static constexpr uint64_t kTasks = 1024;  // calls that may be on their way at once

  std::shared_ptr<Experiments> experiments_;      // if the policy has any for it
  Doubts doubts_;                                 // about their arms
  std::unique_ptr<ExperimentReporter> reporter_;  // of them
  ScheduleCache schedules_;
  PlanCache plans_;
  std::unique_ptr<exec::Task[]> tasks_;
  std::array<std::unique_ptr<uint64_t[]>, kTasks + 1> lengths_;  // of the tasks that needed any
  uint64_t next_task_ = 0;
  uint64_t next_call_ = 1;
  Answer last_in_;  // of find_buffer
  Answer last_out_;
  LastCall last_;
  const exec::Task* repeated_ = nullptr;  // the last call, if it repeated one: newer than last_
  std::array<uint64_t, kWays> calls_by_way_{};
};

}  // namespace weft::comm
