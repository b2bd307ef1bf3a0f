// SPDX-License-Identifier: Apache-2.0
// A stand-in for what the core lends to memory plugins: groups whose ranks are threads or
// processes, with places to look into and faults to order.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <thread>
#include <vector>

#include "fake_host.hpp"
#include "weft/memory.h"

namespace weft::test {

/// The plugin of this build in this process, opened.
struct MemoryPlugin {
  const weft_memory* table;
  void* context;
};
MemoryPlugin& memory_plugin(const char* file);

/// What the ranks of one communicator share. In memory of all processes.
class Net {
 public:
  static constexpr uint32_t kMaxRanks = 8;

  /// `count` of them, made before ranks start.
  static Net* create(uint32_t count);
  static void destroy(Net* nets, uint32_t count);

 private:
  friend class Group;
  struct Box {
    enum State : uint32_t { kEmpty, kAsked, kAnswered } state;
    int32_t code;
    uint64_t length;
    unsigned char bytes[256];
    char reason[512];
  };

  void lock() { pthread_mutex_lock(&mutex_); }
  void unlock() { pthread_mutex_unlock(&mutex_); }
  void changed() { pthread_cond_broadcast(&changed_); }
  /// False after `seconds`. Holds the lock but while it waits.
  template <class Condition>
  bool wait(int seconds, const Condition& condition);

  pthread_mutex_t mutex_;
  pthread_cond_t changed_;
  uint64_t processes_[kMaxRanks];
  uint32_t joined_;
  bool left_[kMaxRanks];
  uint32_t rounds_;  // of all_gather
  uint32_t arrived_;
  uint64_t lengths_[2][kMaxRanks];  // by parity of the round, then rank
  unsigned char gathered_[2][kMaxRanks][1024];
  Box boxes_[kMaxRanks][kMaxRanks];  // by asker and asked
};

/// One rank of one communicator, with a member of the plugin.
class Group {
 public:
  /// Collective: waits for the others.
  Group(MemoryPlugin& plugin, Net& net, uint32_t rank, uint32_t ranks, int32_t device,
        uint64_t window_bytes = WEFT_NOT_CONFIGURED);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Leaves; what was shown can still be looked at.
  void detach();

  void* member() const { return member_; }
  /// As the plugin sees them; may be changed before it looks.
  std::vector<uint64_t>& processes() { return processes_; }
  int32_t ask(const void* question, uint64_t length);
  std::string explain(const void* address, uint64_t bytes) const;

  /// The token of an own place, the address of a peer's; nothing where it is not shown.
  std::optional<uint64_t> own(const void* address, uint64_t bytes) const;
  std::optional<uint64_t> peer(uint32_t rank, const void* token, uint64_t bytes) const;
  size_t own_places() const;
  size_t peer_places(uint32_t rank) const;

  /// The next show_own, show_peer, or all_gather, that counts down to 0 fails.
  std::atomic<int> shows_until_fault{0};
  std::atomic<int> peer_shows_until_fault{0};
  std::atomic<int> gathers_until_fault{0};
  std::atomic<int32_t> gather_fault{WEFT_E_TIMEOUT};
  std::atomic<uint32_t> gathers{0};  // that began
  /// An address in the buffer of a call.
  void use(const void* address) { used_ = reinterpret_cast<uint64_t>(address); }
  std::atomic<bool> peers_busy{false};
  std::atomic<bool> asked_in_use{false};  // while they were
  std::atomic<int> gather_seconds{20};    // then somebody is missing
  /// What the core would call a bug of the plugin.
  std::atomic<int> misuses{0};

 private:
  using Places = std::map<uint64_t, std::pair<uint64_t, uint64_t>>;  // begin: end, what it is

  int32_t show(Places& places, uint64_t from, uint64_t bytes, uint64_t to);
  void hide(Places& places, uint64_t from, uint64_t bytes);
  std::optional<uint64_t> find(const Places& places, uint64_t from, uint64_t bytes) const;
  int32_t all_gather(const void* mine, uint64_t length, weft_gathered each, void* arg);
  int32_t show_peer(uint32_t peer, uint64_t token, uint64_t bytes, uint64_t address);
  void hide_peer(uint32_t peer, uint64_t token, uint64_t bytes);
  void serve();
  void fill();

  MemoryPlugin& plugin_;
  Net& net_;
  weft_group table_{};
  std::vector<uint64_t> processes_;
  void* member_ = nullptr;
  std::thread server_;
  bool stopping_ = false;  // with the lock of the net
  std::atomic<uint64_t> used_{0};
  mutable std::mutex mutex_;
  Places own_;
  std::vector<Places> peers_;
};

/// Fails the rank unless the code is as wanted and the reason has all parts.
void expect(int32_t code, int32_t wanted, std::initializer_list<std::string> parts = {},
            const std::source_location& where = std::source_location::current());

/// What byte `i` of `rank` is before anybody has changed it.
inline unsigned char pattern(uint32_t rank, uint64_t i) {
  return static_cast<unsigned char>(rank * 101 + i * 7 + i / 4093);
}

}  // namespace weft::test
