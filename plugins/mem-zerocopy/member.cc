// SPDX-License-Identifier: Apache-2.0
// Members: their coming and going, and what they show to the core.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "book.hpp"
#include "question.hpp"

namespace weft::zerocopy {
namespace {

constexpr const char* kShow = "show memory to operators";

std::vector<uint64_t> distinct(const weft_group& group) {
  std::vector<uint64_t> processes(group.processes, group.processes + group.ranks);
  std::sort(processes.begin(), processes.end());
  processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
  return processes;
}

/// A rank that left a communicator may have let go of what it had through it. Finds that out
/// before its process is met again in a new communicator.
void find_lost(Book& book, const Member& newcomer) {
  std::vector<Member*> asked;
  Lock lock(book.mutex);
  for (const auto& [base, range] : book.ranges) {
    for (const auto& [address, block] : range.blocks) {
      if (block.state == State::kJoining || block.lost || !block.member->covers(newcomer)) continue;
      if (std::find(asked.begin(), asked.end(), block.member) == asked.end()) {
        asked.push_back(block.member);
      }
    }
  }
  if (asked.empty()) return;
  const Borrowed borrowed(book, asked);
  lock.unlock();
  for (Member* member : asked) {
    if (ask(*member, Question{Verb::kAreYouThere, 0, {}, {}, 0, 0, 0}) == WEFT_OK) continue;
    lock.lock();
    for (auto& [base, range] : book.ranges) {
      for (auto& [address, block] : range.blocks) {
        if (block.member == member) block.lost = true;
      }
    }
    lock.unlock();
  }
}

void show_all(Book& book, Member& member) {
  for (auto& [base, range] : book.ranges) {
    for (auto& [address, block] : range.blocks) {
      const Span span{address, block.bytes};
      if (block.peers_shown) member.show_peers(member.process(), span, address);
      if (block.state != State::kActive || block.lost || !block.member->covers(member)) continue;
      block.shown.reserve(block.shown.size() + 1);
      demand(member.group.show_own(member.group.self, address, block.bytes, address), kShow);
      block.shown.push_back(&member);
    }
  }
  for (const auto& [process, shadows] : book.imports.all()) {
    for (const auto& [base, shadow] : shadows) {
      for (const auto& [token, block] : shadow.blocks) {
        member.show_peers(process, {token, block.bytes}, block.memory->address());
      }
    }
  }
}

void forget(Book& book, const Member& member) noexcept {
  for (auto& [base, range] : book.ranges) {
    for (auto& [address, block] : range.blocks) std::erase(block.shown, &member);
  }
}

/// Ranges set through the member and blocks activated through it. Nobody else is told.
void drop_own(Book& book, const Member& member) noexcept {
  for (auto range = book.ranges.begin(); range != book.ranges.end();) {
    auto& blocks = range->second.blocks;
    const bool set_here = range->second.setter == &member;
    for (auto block = blocks.begin(); block != blocks.end();) {
      if (!set_here && block->second.member != &member) {
        ++block;
        continue;
      }
      book.hide({block->first, block->second.bytes}, block->second);
      block = blocks.erase(block);
    }
    range = set_here ? book.ranges.erase(range) : std::next(range);
  }
}

/// Memory of processes that are peers in no communicator any more.
void drop_imports(Book& book) {
  std::vector<uint64_t> strangers;
  for (const auto& [process, shadows] : book.imports.all()) {
    const bool needed = std::any_of(book.members.begin(), book.members.end(),
                                    [p = process](const Member* m) { return m->has(p); });
    if (!needed) strangers.push_back(process);
  }
  for (const uint64_t process : strangers) book.imports.drop_process(process);
}

}  // namespace

Member::Member(Book& its_book, const weft_group& its_group)
    : book(its_book), group(its_group), processes(distinct(its_group)) {}

bool Member::has(uint64_t process) const {
  return std::binary_search(processes.begin(), processes.end(), process);
}

bool Member::covers(const Member& other) const {
  return std::includes(processes.begin(), processes.end(), other.processes.begin(),
                       other.processes.end());
}

void Member::show_peers(uint64_t process, const Span& token, uint64_t address) const {
  bool granted = false;
  for (uint32_t r = 0; r < group.ranks; ++r) {
    if (r == group.rank || group.processes[r] != process) continue;
    if (!granted) grant({address, token.bytes}, group.device);
    granted = true;
    const int32_t code = group.show_peer(group.self, r, token.base, token.bytes, address);
    if (code == WEFT_OK) continue;
    while (r-- > 0) {
      if (r == group.rank || group.processes[r] != process) continue;
      group.hide_peer(group.self, r, token.base, token.bytes);
    }
    demand(code, kShow);
  }
}

void Member::hide_peers(uint64_t process, const Span& token) const noexcept {
  for (uint32_t r = 0; r < group.ranks; ++r) {
    if (r == group.rank || group.processes[r] != process) continue;
    group.hide_peer(group.self, r, token.base, token.bytes);
  }
}

void Book::warn(const std::string& text) const {
  host.log(WEFT_LOG_WARN, text.data(), text.size());
}

std::map<uint64_t, Range>::iterator Book::range_of(uint64_t address) {
  return find_overlap(ranges, {address, 1});
}

Range* Book::find(uint64_t base, uint64_t serial) {
  const auto range = ranges.find(base);
  return range == ranges.end() || range->second.serial != serial ? nullptr : &range->second;
}

void Book::show(const Span& span, Block& block) {
  show_peers(block.member->process(), span, span.base);
  block.peers_shown = true;
  try {
    block.shown.reserve(members.size());
    for (Member* member : members) {
      if (!block.member->covers(*member)) continue;
      demand(member->group.show_own(member->group.self, span.base, span.bytes, span.base), kShow);
      block.shown.push_back(member);
    }
  } catch (...) {
    hide(span, block);
    throw;
  }
}

void Book::hide_own(const Span& span, Block& block) noexcept {
  for (const Member* member : block.shown) {
    member->group.hide_own(member->group.self, span.base, span.bytes);
  }
  block.shown.clear();
}

void Book::hide_peers(uint64_t process, const Span& span) noexcept {
  for (const Member* member : members) member->hide_peers(process, span);
}

void Book::hide(const Span& span, Block& block) noexcept {
  hide_own(span, block);
  if (block.peers_shown) hide_peers(block.member->process(), span);
  block.peers_shown = false;
}

void Book::show_peers(uint64_t process, const Span& token, uint64_t address) {
  size_t shown = 0;
  try {
    for (; shown < members.size(); ++shown) members[shown]->show_peers(process, token, address);
  } catch (...) {
    while (shown-- > 0) members[shown]->hide_peers(process, token);
    throw;
  }
}

Borrowed::Borrowed(Book& book, std::vector<Member*> members)
    : book_(book), members_(std::move(members)) {
  for (Member* member : members_) ++member->borrowed;
}

Borrowed::~Borrowed() {
  const Lock lock(book_.mutex);
  for (Member* member : members_) --member->borrowed;
  book_.returned.notify_all();
}

Member* attach(Book& book, const weft_group& group) {
  auto made = std::make_unique<Member>(book, group);
  if (made->single()) return made.release();
  find_lost(book, *made);
  const Lock lock(book.mutex);
  book.members.reserve(book.members.size() + 1);
  try {
    show_all(book, *made);
  } catch (...) {
    forget(book, *made);
    throw;
  }
  book.members.push_back(made.get());
  return made.release();
}

void detach(Member& member) {
  const std::unique_ptr<Member> owned(&member);
  Book& book = member.book;
  Lock lock(book.mutex);
  std::erase(book.members, &member);
  forget(book, member);
  book.returned.wait(lock, [&] { return member.borrowed == 0; });
  drop_own(book, member);
  drop_imports(book);
}

}  // namespace weft::zerocopy
