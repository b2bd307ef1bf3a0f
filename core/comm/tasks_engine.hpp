// SPDX-License-Identifier: Apache-2.0
// The tasks engine of one communicator: what its calls become tasks of streams with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "comm/staging.hpp"
#include "exec/issued.hpp"
#include "exec/lowering.hpp"
#include "exec/pending.hpp"
#include "exec/posts.hpp"
#include "exec/watch.hpp"
#include "plugin/registry.hpp"
#include "schedule/plan.hpp"
#include "weft/transport.h"

namespace weft::comm {

class TasksEngine {
 public:
  /// Fills in what an endpoint for this engine needs to know.
  static void ask_for(weft_endpoint_params& params);

  /// Opens an endpoint and shares memory with the peers-to-be: twice `buffer` bytes, and the slots
  /// for messages. Throws Error.
  static std::unique_ptr<TasksEngine> open(const weft_transport& transport, void* context,
                                           const weft_endpoint_params& params, uint64_t buffer);
  /// Ends the thread that looks after calls; the endpoint is closed later.
  ~TasksEngine();
  TasksEngine(const TasksEngine&) = delete;
  TasksEngine& operator=(const TasksEngine&) = delete;

  [[nodiscard]] void* endpoint() const { return endpoint_; }
  [[nodiscard]] uint64_t shared() const { return reinterpret_cast<uint64_t>(shared_); }
  /// The next rank's memory, at its address here.
  void add_peer(uint64_t shared) { peers_.push_back(reinterpret_cast<std::byte*>(shared)); }
  /// Stands for a board where no memory can be looked into by other ranks: never written by a peer.
  [[nodiscard]] exec::Board* board(uint32_t of) { return &boards_[of == rank_ ? 0 : 1]; }
  /// Both must outlive it.
  void start(const exec::Setup& setup, exec::Watch& watch);

  void shape(schedule::Geometry& geometry) const;
  /// Whether inline reduce has the type and operation of a call.
  [[nodiscard]] bool reduces(const CallKey& key) const {
    return transport_.tasks->reduces(key.type, key.reduce_op) != 0;
  }
  /// Of this rank in calls of an algorithm (schedule::partners).
  [[nodiscard]] std::vector<bool> partners(const plugin::Algorithm& algorithm,
                                           const schedule::Shape& shape,
                                           const std::vector<int64_t>& params);

  /// WEFT_SIDE_* of a caller's buffer. Throws Error if streams cannot copy it.
  [[nodiscard]] uint32_t locate(const void* buffer, uint64_t bytes) const;
  /// Device memory for the next call, at least `bytes`. Throws Error (HCCL_E_OOM).
  void* room_aside(uint64_t bytes);
  /// Throw Error; the communicator is given up if something is on the stream by then, or if ranks
  /// call different things.
  void issue(exec::TaskCall call, const CallKey& key, void* stream);
  void issue(std::span<const exec::MessageStep> steps, void* stream);

  void peer_gone() noexcept { pending_->peer_gone(); }
  [[nodiscard]] bool busy() { return pending_ != nullptr && pending_->busy(); }
  [[nodiscard]] uint64_t ended() { return pending_ == nullptr ? 0 : pending_->ended(); }

 private:
  TasksEngine(const weft_transport& transport, void* endpoint, const weft_endpoint_params& params,
              uint64_t buffer);

  [[nodiscard]] uint32_t ranks() const { return static_cast<uint32_t>(peers_.size()); }
  void require_member(uint32_t peer, const CallKey& key);
  template <class Body>
  uint32_t carry_out(const CallKey& key, void* stream, const Body& body);

  const weft_transport& transport_;
  void* const endpoint_;
  const uint32_t rank_;
  const exec::TaskLayout layout_;
  void* shared_ = nullptr;
  std::vector<std::byte*> peers_;
  std::unique_ptr<exec::Board[]> boards_;  // own, any other's
  exec::Watch* watch_ = nullptr;
  std::unique_ptr<exec::TaskTools> tools_;
  std::unique_ptr<exec::Pending> pending_;
  std::unique_ptr<exec::Lowering> lowering_;
  std::unique_ptr<exec::Posts> posts_;
  std::unique_ptr<exec::Issued> issued_;
  std::unique_ptr<Staging> aside_;
  // By algorithm, operation, root and parameters.
  std::map<std::tuple<std::string, uint32_t, uint32_t, std::vector<int64_t>>, std::vector<bool>>
      partners_;
};

}  // namespace weft::comm
