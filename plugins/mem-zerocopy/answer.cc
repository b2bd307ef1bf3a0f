// SPDX-License-Identifier: Apache-2.0
// What the other ranks' questions do here.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "book.hpp"
#include "question.hpp"

namespace weft::zerocopy {
namespace {

/// A question that is being answered.
struct Asked {
  Member& member;
  uint32_t peer;
  RemoteRange range;
};

/// Gives calls here that found memory of the asking rank a moment to end. The owner's own calls
/// with the block have ended, so peers need nothing of it any more; but one that failed at the
/// owner may still be copying here. No longer than that: a call here may need a rank whose question
/// waits behind this one.
void let_calls_end(const weft_group& group, uint32_t peer) {
  constexpr std::chrono::milliseconds kPatience{100};
  constexpr std::chrono::microseconds kStep{50};
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (group.peer_in_use(group.self, peer) != 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(kStep);
  }
}

/// Unmaps blocks that are no longer in the book, after their last use. Lets the lock go.
void retire(const Asked& asked, Lock& lock, Removed removed) {
  if (removed.empty()) return;
  for (const auto& [token, block] : removed) {
    asked.member.book.hide_peers(asked.range.process, {token, block.bytes});
  }
  lock.unlock();
  let_calls_end(asked.member.group, asked.peer);
  lock.lock();
}

void map_block(const Asked& asked, Lock& lock, const Question& question) {
  Book& book = asked.member.book;
  const RemoteRange& range = asked.range;
  const Span& span = question.block;
  const auto known = [&] {
    const Shadow* shadow = book.imports.find(range);
    if (shadow == nullptr) return false;
    const auto block = shadow->blocks.find(span.base);
    return block != shadow->blocks.end() && block->second.bytes == span.bytes &&
           block->second.memory->shareable() == question.shareable;
  };
  if (known()) return;  // asked through another rank of this process
  retire(asked, lock, book.imports.take_block(range, span));
  Shadow& shadow = book.imports.open(range);
  if (shadow.blocks.contains(span.base)) return;  // another answer came first
  try {
    ImportedBlock block{
        span.bytes, std::make_unique<Import>(shadow.room, span.base - range.span.base, span.bytes,
                                             question.shareable, asked.member.group.device)};
    const auto added = shadow.blocks.emplace(span.base, std::move(block)).first;
    book.show_peers(range.process, span, added->second.memory->address());
  } catch (...) {
    book.imports.take_block(range, span);
    throw;
  }
}

bool well_formed(const Question& question) {
  const bool with_block = question.verb == Verb::kMap || question.verb == Verb::kUnmap;
  return question.range.bytes != 0 && question.range.end() > question.range.base &&
         question.range.end() <= WEFT_TOKEN_LIMIT &&
         (!with_block || (question.block.bytes != 0 && question.range.contains(question.block)));
}

}  // namespace

void answer(Member& member, uint32_t peer, const void* bytes, uint64_t length) {
  Question question{};
  const bool whole = length == sizeof question;
  if (whole) std::memcpy(&question, bytes, sizeof question);
  if (whole && question.verb == Verb::kAreYouThere) return;
  if (!whole || !well_formed(question)) {
    throw Fault{WEFT_E_INTERNAL, fmt::format("rank {} asked what this version of the zero-copy "
                                             "plugin does not know; use one version on all ranks",
                                             peer)};
  }
  const uint64_t process = member.group.processes[peer];
  if (process == member.process()) {  // its addresses are good here as they are
    if (question.verb == Verb::kUnmap) let_calls_end(member.group, peer);
    return;
  }
  const RemoteRange range{process, question.range, question.flags, question.serial};
  const Asked asked{member, peer, range};
  Book& book = member.book;
  Lock lock(book.mutex);
  switch (question.verb) {
    case Verb::kReserve:
      retire(asked, lock, book.imports.take_stale(range));
      book.imports.open(range).set = true;
      break;
    case Verb::kRelease:
      retire(asked, lock, book.imports.take_range(range));
      break;
    case Verb::kMap:
      retire(asked, lock, book.imports.take_stale(range));
      map_block(asked, lock, question);
      break;
    case Verb::kUnmap:
      retire(asked, lock, book.imports.take_block(range, question.block));
      break;
    default:
      throw Fault{WEFT_E_INTERNAL, fmt::format("rank {} asked an unknown question {}", peer,
                                               static_cast<uint32_t>(question.verb))};
  }
}

}  // namespace weft::zerocopy
