// SPDX-License-Identifier: Apache-2.0
// State of this plugin: in a process, in a communicator on one rank, of an area of memory, of a
// window.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "heap.hpp"
#include "memory-common/exports.hpp"
#include "span.hpp"
#include "weft/host.h"
#include "weft/memory.h"

namespace weft::symwin {

struct Member;

/// Memory of all ranks that lies at one offset of every slot. Its windows share it.
struct Area {
  Area(Member& owner, uint64_t place, Span memory)
      : member(owner), offset(place), own(std::move(memory)) {}
  /// Hides from operators what was shown, and unmaps.
  ~Area();
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;

  /// Lets operators find the memory: that of a peer, which is mapped; then, once all ranks have
  /// done that, this rank's own.
  void show_peer(uint32_t peer);
  void show_own();
  /// No later call finds it. Returns the peers whose memory was shown.
  std::vector<uint32_t> hide() noexcept;

  Member& member;
  const uint64_t offset;
  const Span own;  // this rank's memory, at the program's addresses
  Mappings mappings;
  uint32_t users = 0;  // windows, and a registration under way

 private:
  bool own_shown_ = false;
  std::vector<uint32_t> peers_shown_;
};

/// A registration.
struct Window {
  Member* member = nullptr;
  Area* area = nullptr;  // nullptr: of a single rank
  uint64_t address = 0;  // as registered
  uint64_t bytes = 0;
  std::vector<uint64_t> starts;  // by rank: the registered address in its memory of the area
};

struct Context {
  const weft_host* host = nullptr;
  const int32_t process = getpid();  // a forked child has the windows, but not what is behind them
  memory::Exports exports;
  /// Guards the windows and, of all members, areas and heaps. Held while the core is called, except
  /// for its collective functions.
  std::mutex mutex;
  uint64_t last_handle = 0;
  std::map<void*, Window> windows;               // by handle
  std::map<void*, aclrtDrvMemHandle> allocated;  // physical memory, by address
};

/// One rank of a communicator.
struct Member {
  Member(Context& all, const weft_group& lent) : context(all), group(lent) {}

  Context& context;
  const weft_group& group;
  std::mutex registering;      // held by a registration from its begin to its end
  std::unique_ptr<Heap> heap;  // from the first registration on
  std::map<uint64_t, std::unique_ptr<Area>> areas;  // by offset

  std::mutex shown_mutex;              // so that explain() waits for nobody
  std::map<uint64_t, uint64_t> shown;  // own memory that operators find: address -> bytes
};

/// One user less; the last one closes the area. The caller holds the context's lock.
void leave_area(Area& area);

/// Keeps a window and returns its handle, which is never used again. The caller holds the context's
/// lock.
void* add_window(Context& context, Window window);

// The functions of weft_memory; they throw Fault.
void* register_window(Member& member, uint64_t address, uint64_t bytes, uint32_t flag);
void deregister_window(Context& context, void* handle);
std::pair<void*, uint64_t> find_window(Member& member, uint64_t address, uint64_t bytes);
uint64_t peer_address(Context& context, void* handle, uint64_t offset, uint32_t peer);
void close_member(Member& member);
void* allocate_memory(Context& context, uint64_t bytes);
void free_memory(Context& context, void* pointer);
std::string explain(Member& member, uint64_t address, uint64_t bytes);

}  // namespace weft::symwin
