// SPDX-License-Identifier: Apache-2.0
// Activating and deactivating blocks. All peers have a block before its owner uses it; the owner
// lets go of it before any of them.
#include <fmt/format.h>

#include "book.hpp"
#include "question.hpp"

namespace weft::zerocopy {
namespace {

void check_arguments(const Span& span, uint64_t offset, uint64_t flags) {
  if (span.bytes == 0) {
    throw Fault{WEFT_E_PARA,
                fmt::format("size is 0; pass that of the mapping at {:#x}", span.base)};
  }
  if (offset != 0 || flags > 1) {
    throw Fault{WEFT_E_PARA, fmt::format("offset is {} and flags are {:#x}; offset must be 0 and "
                                         "flags 0 or 1",
                                         offset, flags)};
  }
}

/// The range that the block is to lie in.
Range& range_for(Book& book, const Span& span) {
  const auto range = book.range_of(span.base);
  const bool within = range != book.ranges.end() && range->second.state == State::kActive &&
                      span.bytes <= range->second.bytes - (span.base - range->first);
  if (!within) {
    throw Fault{WEFT_E_PARA,
                fmt::format("{} bytes at {:#x} do not lie in one range set in this process; "
                            "activate memory inside of a range of HcclCommSetMemoryRange",
                            span.bytes, span.base)};
  }
  return range->second;
}

/// Puts the block into the book, not yet to be used; the question that makes peers map it.
Question enter(Member& member, const Span& span, void* handle) {
  Book& book = member.book;
  const Lock lock(book.mutex);
  Range& range = range_for(book, span);
  const auto other = find_overlap(range.blocks, span);
  if (other != range.blocks.end()) {
    throw Fault{WEFT_E_PARA, fmt::format("{} bytes at {:#x} overlap the active block of {} bytes "
                                         "at {:#x}; deactivate that first",
                                         span.bytes, span.base, other->second.bytes, other->first)};
  }
  check_mapping(span, handle);
  const uint64_t shareable =
      member.has_other_processes() ? book.exports.share(book.host, handle, span.base) : 0;
  Block block;
  block.bytes = span.bytes;
  block.member = &member;
  range.blocks.emplace(span.base, block);
  const uint64_t base = book.range_of(span.base)->first;
  return {Verb::kMap, 0, {base, range.bytes}, span, range.flags, range.serial, shareable};
}

Block* find(Book& book, const Question& question) {
  Range* range = book.find(question.range.base, question.serial);
  if (range == nullptr) return nullptr;
  const auto block = range->blocks.find(question.block.base);
  return block == range->blocks.end() ? nullptr : &block->second;
}

void erase(Book& book, const Question& question) {
  Range* range = book.find(question.range.base, question.serial);
  if (range != nullptr) range->blocks.erase(question.block.base);
}

using Active = std::pair<std::map<uint64_t, Range>::iterator, std::map<uint64_t, Block>::iterator>;

/// The active block at exactly this address.
Active find_active(Book& book, uint64_t address) {
  const auto range = book.range_of(address);
  if (range != book.ranges.end()) {
    const auto block = find_overlap(range->second.blocks, {address, 1});
    const bool active =
        block != range->second.blocks.end() && block->second.state == State::kActive;
    if (active && block->first == address) return {range, block};
    if (active) {
      throw Fault{WEFT_E_PARA,
                  fmt::format("{:#x} lies inside of the active block at {:#x}; pass its start, "
                              "only whole blocks are deactivated",
                              address, block->first)};
    }
  }
  throw Fault{WEFT_E_PARA, fmt::format("no block is active at {:#x}; pass an address given to "
                                       "HcclCommActivateCommMemory",
                                       address)};
}

void check_unused(const Book& book, const Span& span) {
  for (const Member* member : book.members) {
    if (member->group.own_in_use(member->group.self, span.base, span.bytes) == 0) continue;
    throw Fault{WEFT_E_AGAIN, fmt::format("a call still uses the block of {} bytes at {:#x}; "
                                          "synchronise its stream first",
                                          span.bytes, span.base)};
  }
}

}  // namespace

void activate(Member& member, const Span& span, uint64_t offset, void* handle, uint64_t flags) {
  if (member.single()) return;
  check_linked(member);
  check_arguments(span, offset, flags);
  Question question = enter(member, span, handle);
  Book& book = member.book;
  try {
    demand(ask(member, question), "have the other ranks map the block");
    const Lock lock(book.mutex);
    Block* block = find(book, question);
    if (block == nullptr) {
      throw Fault{WEFT_E_PARA, fmt::format("the range at {:#x} went away with the communicator it "
                                           "was set through",
                                           question.range.base)};
    }
    book.show(span, *block);
    block->state = State::kActive;
  } catch (...) {
    question.verb = Verb::kUnmap;
    ask(member, question);
    const Lock lock(book.mutex);
    erase(book, question);
    throw;
  }
}

void deactivate(Member& member, uint64_t address) {
  if (member.single()) return;
  check_linked(member);
  Book& book = member.book;
  Lock lock(book.mutex);
  const auto [range, block] = find_active(book, address);
  Block& leaving = block->second;
  const Question question{Verb::kUnmap,
                          0,
                          {range->first, range->second.bytes},
                          {address, leaving.bytes},
                          range->second.flags,
                          range->second.serial,
                          0};
  check_unused(book, question.block);
  leaving.state = State::kLeaving;
  book.hide(question.block, leaving);
  {
    const Borrowed owner(book, {leaving.member});
    lock.unlock();
    if (ask(*owner.members()[0], question) != WEFT_OK) {
      book.warn(
          fmt::format("zero copy: not all ranks let go of the block at {:#x}: some are gone or "
                      "do not answer; it is deactivated all the same",
                      address));
    }
  }
  lock.lock();
  erase(book, question);
}

}  // namespace weft::zerocopy
