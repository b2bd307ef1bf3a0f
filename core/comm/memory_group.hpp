// SPDX-License-Identifier: Apache-2.0
// What the core lends a memory plugin for one rank of one communicator (weft_group): the other
// ranks to talk to, and the map of what each shows.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "control/control.hpp"
#include "exec/address_map.hpp"
#include "plugin/registry.hpp"

namespace weft::comm {

/// A memory plugin that is open in this process.
struct OpenMemory {
  const plugin::Memory* plugin = nullptr;
  void* context = nullptr;
};

/// The communicator as a memory plugin's group needs it. All of it outlives the group.
struct Surroundings {
  uint32_t rank = 0;
  uint32_t ranks = 0;
  int32_t device = 0;
  uint64_t window_bytes = WEFT_NOT_CONFIGURED;
  std::chrono::milliseconds timeout{0};  // of what is collective
  control::Session* session = nullptr;
  mutable std::mutex collective;  // one exchange at a time
  exec::AddressMap* map = nullptr;
  std::vector<uint64_t> processes;
  std::function<uint64_t()> done;                               // the last call that has ended
  std::function<bool(uint64_t, uint64_t)> own_in_use;           // weft_group.own_in_use
  std::function<void(const std::function<void()>&)> on_device;  // runs it with the device current
};

/// Attached for its whole life.
class MemoryGroup {
 public:
  /// `space` of the map is the plugin's. Throws Error.
  MemoryGroup(const OpenMemory& memory, uint32_t space, const Surroundings& around);
  ~MemoryGroup();
  MemoryGroup(const MemoryGroup&) = delete;
  MemoryGroup& operator=(const MemoryGroup&) = delete;

  [[nodiscard]] const weft_memory& table() const noexcept { return memory_.plugin->table; }
  [[nodiscard]] const std::string& name() const noexcept { return memory_.plugin->name; }
  [[nodiscard]] bool offers(uint32_t family) const noexcept {
    return (table().families & family) != 0;
  }
  [[nodiscard]] void* member() const noexcept { return member_; }

  // On the control thread: a message of the group of the same space of another rank, the end of a
  // rank, and that of the way to all others.
  void on_message(uint32_t from, std::span<const std::byte> bytes);
  void on_peer_gone(uint32_t rank);
  void on_cut_off(const std::string& why);

 private:
  struct Question {
    uint32_t from;
    uint64_t ticket;
    std::vector<std::byte> bytes;
  };
  /// An `ask` that waits for its answers.
  struct Inquiry {
    uint64_t ticket = 0;
    std::set<uint32_t> missing;
    int32_t code = WEFT_OK;
    std::string reason;
  };

  template <typename Body>
  int32_t guarded(const char* what, Body&& body) noexcept;
  static MemoryGroup& of(void* self) { return *static_cast<MemoryGroup*>(self); }
  static weft_group services() noexcept;

  int32_t all_gather(const void* mine, uint64_t length, weft_gathered each, void* arg) noexcept;
  int32_t ask(const void* question, uint64_t length) noexcept;
  int32_t show(bool shown, const char* what) noexcept;
  bool peer_in_use(uint32_t peer) const noexcept;

  void post(uint32_t to, uint32_t kind, uint64_t ticket, int32_t code, const void* bytes,
            uint64_t length);
  void queue(Question question);
  void answer_questions();
  void answer(const Question& question);
  void reply(const Question& question, int32_t code, std::string_view reason) noexcept;
  void take_answer(uint32_t from, uint64_t ticket, int32_t code, std::string reason);

  const OpenMemory memory_;
  const uint32_t space_;
  const Surroundings& around_;
  weft_group group_{};
  void* member_ = nullptr;

  std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  std::set<uint32_t> gone_;
  Inquiry inquiry_;  // one at a time: asking_
  bool asking_ = false;
  uint64_t last_ticket_ = 0;
  std::deque<Question> questions_;
  bool ending_ = false;
  std::thread answerer_;  // started by the first question
};

}  // namespace weft::comm
