// SPDX-License-Identifier: Apache-2.0
// The address book of a process: ranges set here with their active blocks, what was imported from
// other processes, and the members (ranks of communicators) that show it to the core.
//
// Whose memory: a range belongs to the process. A block reaches the processes of the communicator
// through which it was activated; every member whose processes are all reached shows it. A peer
// process imports a block once, whatever communicators and ranks it has.
//
// Locking: one mutex for all. It is never held while other ranks or calls are waited for; what
// happens meanwhile is kept from the same thing by its state.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "imports.hpp"
#include "memory-common/exports.hpp"
#include "runtime.hpp"
#include "span.hpp"
#include "weft/host.h"
#include "weft/memory.h"

namespace weft::zerocopy {

struct Book;

/// One rank of one communicator.
struct Member {
  Book& book;
  const weft_group& group;
  std::vector<uint64_t> processes;  // of its ranks, sorted, each once
  bool linked = false;              // a range was set through it
  uint32_t borrowed = 0;            // users of `group` without the lock

  Member(Book& book, const weft_group& group);
  uint64_t process() const { return group.processes[group.rank]; }
  bool single() const { return group.ranks == 1; }
  bool has(uint64_t process) const;
  /// All processes of the other are among its own.
  bool covers(const Member& other) const;
  bool has_other_processes() const { return processes.size() > 1; }

  /// Shows the place to the core as that of every peer rank in `process`; all or nothing.
  void show_peers(uint64_t process, const Span& token, uint64_t address) const;
  void hide_peers(uint64_t process, const Span& token) const noexcept;
};

enum class State { kJoining, kActive, kLeaving };

struct Block {
  uint64_t bytes = 0;
  State state = State::kJoining;
  Member* member = nullptr;      // through which it was activated
  bool peers_shown = false;      // members show it as memory of the peers in this process
  std::vector<Member*> shown{};  // members that show it as their own
  bool lost = false;             // some rank has left: it may not have the block any more
};

struct Range {
  uint64_t bytes = 0;
  uint64_t flags = 0;
  uint64_t serial = 0;  // tells two ranges at one place, one after the other, apart
  State state = State::kJoining;
  Member* setter = nullptr;
  std::map<uint64_t, Block> blocks{};
};

struct Book {
  explicit Book(const weft_host& services) : host(services) {}

  const weft_host& host;
  std::mutex mutex;
  std::condition_variable returned;  // a borrowed member
  std::vector<Member*> members;      // without the single ones
  std::map<uint64_t, Range> ranges;
  Imports imports;
  memory::Exports exports;
  uint64_t last_serial = 0;

  void warn(const std::string& text) const;

  // With the lock held:
  /// The range that contains the address, or end().
  std::map<uint64_t, Range>::iterator range_of(uint64_t address);
  /// nullptr if it is gone.
  Range* find(uint64_t base, uint64_t serial);

  /// Shows a block of this process on all members; all or nothing.
  void show(const Span& span, Block& block);
  /// No member shows it as its own any more.
  void hide_own(const Span& span, Block& block) noexcept;
  void hide_peers(uint64_t process, const Span& span) noexcept;
  void hide(const Span& span, Block& block) noexcept;
  /// Every peer rank in `process` is shown the place.
  void show_peers(uint64_t process, const Span& token, uint64_t address);
};

using Lock = std::unique_lock<std::mutex>;

/// Keeps the groups of members alive while the lock is not held. Made with the lock held, ends
/// without it.
class Borrowed {
 public:
  Borrowed(Book& book, std::vector<Member*> members);
  ~Borrowed();
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  const std::vector<Member*>& members() const { return members_; }

 private:
  Book& book_;
  const std::vector<Member*> members_;
};

// The functions of the table; errors are thrown.
Member* attach(Book& book, const weft_group& group);
void detach(Member& member);
std::string explain(const Member& member, const Span& span);
/// WEFT_E_PARA unless a range was set through the member before.
void check_linked(const Member& member);
void set_range(Member& member, const Span& span, uint64_t alignment, uint64_t flags);
void unset_range(Member& member, uint64_t base);
void activate(Member& member, const Span& span, uint64_t offset, void* handle, uint64_t flags);
void deactivate(Member& member, uint64_t address);
void answer(Member& member, uint32_t peer, const void* question, uint64_t length);

}  // namespace weft::zerocopy
