// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks: sends, receives and batches of them. A sender puts the place of its
// data (or a few bytes of data) into the receiver's mail and waits for the receipt; the receiver
// copies once, straight from the sender's buffer. The n-th send of one rank to another meets the
// n-th receive there. Independent of the order of collective calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "comm/call.hpp"
#include "exec/board.hpp"
#include "exec/used_memory.hpp"
#include "exec/watch.hpp"
#include "weft/transport.h"

namespace weft::exec {

class Messenger;

/// One side of one message, or a copy within this rank.
struct MessageStep {
  enum class Kind : uint8_t { kSend, kReceive, kCopy };
  Kind kind = Kind::kCopy;
  uint8_t type = 0;
  bool posted = false;
  bool done = false;
  uint32_t peer = 0;
  const void* from = nullptr;    // send: visible to the peer; copy: source
  uint64_t shift = 0;            // send: makes `from` a word for the peer (AddressMap)
  void* to = nullptr;            // receive, copy
  const void* staged = nullptr;  // send: where the data is at first, if peers cannot see it there
  uint64_t count = 0;            // elements
  uint64_t bytes = 0;
  uint64_t sequence = 0;  // of the messages from sender to receiver, from 1
  uint32_t next = 0;      // index of the next step of the same kind and peer; 0: none
};

/// One send, receive or batch on its way through a stream. Owned by the messenger, reused.
struct MessageTask {
  weft_task base{};  // first: the transport calls base.run(&base)
  Messenger* messenger = nullptr;
  std::vector<MessageStep> steps;
  // The steps that can go on: of each kind and peer the first that is not done, and all copies.
  std::vector<uint32_t> heads;
  uint64_t ticket = 0;  // number of its use
  bool begun = false;
  Wait wait;
  std::atomic<bool> busy{false};
  UsedMemory used_from;  // of the callers, all of the batch
  UsedMemory used_to;
  std::atomic<MessageTask*> older{nullptr};  // made before this one
};

class Messenger {
 public:
  /// Both must outlive it.
  Messenger(const Setup& setup, Watch& watch);
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  // By the issuing thread. Calls must be ordered by the caller.

  /// A task that is not in use, with no steps.
  MessageTask& fresh_task();
  /// Numbers the steps and marks the task as on its way; to be undone if it never gets there.
  /// Throws std::bad_alloc, with nothing done.
  void launch(MessageTask& task);
  void undo(MessageTask& task) noexcept;
  /// Whether a message on its way is sent from, or received into, part of this memory.
  [[nodiscard]] bool in_use(uint64_t address, uint64_t bytes) const noexcept;
  [[nodiscard]] bool busy() const noexcept { return ended() != launched_; }
  /// Tasks that have ended.
  [[nodiscard]] uint64_t ended() const noexcept { return ended_.load(std::memory_order_acquire); }

  /// Entry points for the transport.
  static int32_t run(weft_task* base) noexcept;
  static void drop(weft_task* base) noexcept;

 private:
  enum class Advance : uint8_t { kWaits, kMoved, kFailed };

  int32_t progress(MessageTask& task) noexcept;
  Advance pass(MessageTask& task) noexcept;
  Advance advance(MessageStep& step) noexcept;
  Advance send(MessageStep& step) noexcept;
  Advance receive(MessageStep& step) noexcept;
  void post(const MessageStep& step) noexcept;
  bool take(const MessageStep& step, const Mail& mail) noexcept;
  void mismatch(const MessageStep& step, const Mail& mail) noexcept;
  void unknown_place(const MessageStep& step) noexcept;
  int32_t investigate(MessageTask& task) noexcept;
  int32_t fail_task(MessageTask& task) noexcept;
  void finish(MessageTask& task) noexcept;
  uint64_t& counter(const MessageStep& step) noexcept;
  void add_to_chains(MessageTask& task);
  [[nodiscard]] comm::CallKey key(const MessageStep& step) const noexcept;

  const Setup& setup_;
  Watch& watch_;
  Board* const board_;              // own
  std::vector<uint64_t> sent_;      // to each peer, as issued
  std::vector<uint64_t> received_;  // from each peer, as issued
  std::vector<uint32_t> tails_;     // by kind and peer, while a task is launched
  std::vector<std::unique_ptr<MessageTask>> tasks_;
  std::atomic<MessageTask*> newest_{nullptr};  // the same, for other threads
  size_t next_ = 0;                            // where to look for a task first
  std::atomic<uint64_t> launched_{0};
  std::atomic<uint64_t> ended_{0};
};

}  // namespace weft::exec
