// SPDX-License-Identifier: Apache-2.0
// Setting and unsetting ranges. The first time, all ranks of a communicator do it together and
// learn of each other's failures; later a rank tells the others.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "book.hpp"
#include "question.hpp"

namespace weft::zerocopy {
namespace {

/// What a rank tells in the first Set: its range, or why it has none.
struct Report {
  int32_t code;
  uint32_t reserved;
  Span range;
  uint64_t flags;
  uint64_t serial;
  char reason[240];
};

/// Those of all ranks; what a rank of another version sends becomes a failure of it.
std::vector<Report> exchange(const Member& member, const Report& mine) {
  std::vector<Report> reports(member.group.ranks);
  const auto keep = [](void* arg, uint32_t rank, const void* bytes, uint64_t length) {
    Report& report = static_cast<Report*>(arg)[rank];
    if (length == sizeof report) {
      std::memcpy(&report, bytes, sizeof report);
    } else {
      report = {WEFT_E_INTERNAL, 0, {}, 0, 0, "it has another version of this plugin"};
    }
    report.reason[sizeof report.reason - 1] = '\0';
  };
  demand(member.group.all_gather(member.group.self, &mine, sizeof mine, keep, reports.data()),
         "exchange what the ranks set");
  return reports;
}

/// Throws if a rank failed: on that rank its own fault, on others the names of all such ranks.
void judge(const Member& member, const std::vector<Report>& reports,
           const std::optional<Fault>& own) {
  if (own) throw Fault(*own);
  std::string text;
  for (uint32_t r = 0; r < reports.size(); ++r) {
    if (reports[r].code == WEFT_OK || r == member.group.rank) continue;
    text += fmt::format("{}rank {} failed: {}", text.empty() ? "" : "; ", r, reports[r].reason);
  }
  if (!text.empty()) {
    throw Fault{WEFT_E_INTERNAL, text +
                                     ". No rank has set its range; put that right and call on "
                                     "all ranks again"};
  }
}

void check_arguments(const Span& span, uint64_t alignment, uint64_t flags) {
  if (span.bytes == 0) {
    throw Fault{WEFT_E_PARA,
                fmt::format("size is 0; pass that of the reservation at {:#x}", span.base)};
  }
  if (alignment != 0 || flags > 1) {
    throw Fault{WEFT_E_PARA, fmt::format("alignment is {} and flags are {:#x}; alignment must be 0 "
                                         "and flags 0 or 1",
                                         alignment, flags)};
  }
  if (span.base >= WEFT_TOKEN_LIMIT || span.bytes > WEFT_TOKEN_LIMIT - span.base) {
    throw Fault{WEFT_E_PARA, fmt::format("{} bytes at {:#x} end beyond 48-bit addresses; pass a "
                                         "range of aclrtReserveMemAddress",
                                         span.bytes, span.base)};
  }
}

/// Puts the range into the book, not yet to be used, so that nobody else takes the place.
uint64_t enter(Member& member, const Span& span, uint64_t flags) {
  check_reservation(span.base);
  Book& book = member.book;
  const Lock lock(book.mutex);
  const auto other = find_overlap(book.ranges, span);
  if (other != book.ranges.end()) {
    throw Fault{WEFT_E_PARA,
                fmt::format("{} bytes at {:#x} overlap the range of {} bytes set at {:#x} in this "
                            "process; a range is set once, for all communicators",
                            span.bytes, span.base, other->second.bytes, other->first)};
  }
  const uint64_t serial = ++book.last_serial;
  book.ranges[span.base] = {span.bytes, flags, serial, State::kJoining, &member, {}};
  return serial;
}

void withdraw(Book& book, uint64_t base, uint64_t serial) {
  const Lock lock(book.mutex);
  if (book.find(base, serial) != nullptr) book.ranges.erase(base);
}

void commit(Book& book, uint64_t base, uint64_t serial) {
  const Lock lock(book.mutex);
  if (Range* range = book.find(base, serial)) range->state = State::kActive;
}

/// Reserves addresses for the ranges of all peers of other processes, or releases them.
void for_all_peers(Verb verb, Member& member, const std::vector<Report>& reports) {
  for (uint32_t r = 0; r < reports.size(); ++r) {
    const Report& peer = reports[r];
    if (r == member.group.rank || peer.range.bytes == 0) continue;
    const Question question{verb, 0, peer.range, {}, peer.flags, peer.serial, 0};
    answer(member, r, &question, sizeof question);
  }
}

void set_together(Member& member, const Span& span, uint64_t flags) {
  Book& book = member.book;
  std::optional<Fault> fault;
  Report mine{WEFT_OK, 0, span, flags, 0, {}};
  const auto attempt = [&](const auto& step) {
    fault = memory::fault_of(step);
    if (!fault) return;
    mine.code = fault->code;
    std::string_view(fault->what()).copy(mine.reason, sizeof mine.reason - 1);
  };
  std::vector<Report> reports;
  attempt([&] { mine.serial = enter(member, span, flags); });
  try {
    reports = exchange(member, mine);
    judge(member, reports, fault);
    attempt([&] { for_all_peers(Verb::kReserve, member, reports); });
    judge(member, exchange(member, mine), fault);
  } catch (...) {
    if (mine.serial != 0) withdraw(book, span.base, mine.serial);
    for_all_peers(Verb::kRelease, member, reports);
    throw;
  }
  commit(book, span.base, mine.serial);
  member.linked = true;
}

void set_alone(Member& member, const Span& span, uint64_t flags) {
  const uint64_t serial = enter(member, span, flags);
  Question question{Verb::kReserve, 0, span, {}, flags, serial, 0};
  const int32_t code = ask(member, question);
  if (code != WEFT_OK) {
    question.verb = Verb::kRelease;
    ask(member, question);
    withdraw(member.book, span.base, serial);
    demand(code, "have the other ranks reserve the range");
  }
  commit(member.book, span.base, serial);
}

}  // namespace

void set_range(Member& member, const Span& span, uint64_t alignment, uint64_t flags) {
  if (member.single()) return;
  check_hardware();
  check_arguments(span, alignment, flags);
  if (member.linked) {
    set_alone(member, span, flags);
  } else {
    set_together(member, span, flags);
  }
}

void unset_range(Member& member, uint64_t base) {
  if (member.single()) return;
  check_linked(member);
  Book& book = member.book;
  Lock lock(book.mutex);
  const auto found = book.ranges.find(base);
  if (found == book.ranges.end() || found->second.state != State::kActive) {
    throw Fault{WEFT_E_PARA, fmt::format("no range is set at {:#x} in this process; pass the "
                                         "address given to HcclCommSetMemoryRange",
                                         base)};
  }
  Range& range = found->second;
  if (!range.blocks.empty()) {
    throw Fault{WEFT_E_PARA,
                fmt::format("the range at {:#x} has {} active blocks, the first at {:#x}; "
                            "deactivate them first",
                            base, range.blocks.size(), range.blocks.begin()->first)};
  }
  range.state = State::kLeaving;
  const Question question{Verb::kRelease, 0, {base, range.bytes}, {}, range.flags, range.serial, 0};
  {
    const Borrowed setter(book, {range.setter});
    lock.unlock();
    if (ask(*setter.members()[0], question) != WEFT_OK) {
      book.warn(
          fmt::format("zero copy: not all ranks let go of the range at {:#x}: some are gone or "
                      "do not answer; it is unset all the same",
                      base));
    }
  }
  withdraw(book, base, question.serial);
}

void check_linked(const Member& member) {
  check_hardware();
  if (member.linked) return;
  throw Fault{WEFT_E_PARA,
              "no range was set through this communicator; call HcclCommSetMemoryRange on it "
              "first"};
}

}  // namespace weft::zerocopy
