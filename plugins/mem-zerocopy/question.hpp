// SPDX-License-Identifier: Apache-2.0
// What ranks ask each other. Plain bytes between processes of one host and one version.
#pragma once

#include <cstdint>

#include "book.hpp"

namespace weft::zerocopy {

enum class Verb : uint32_t {
  kAreYouThere,
  kReserve,  // the range
  kRelease,  // the range and what is mapped in it
  kMap,      // the block; the range, too, if the peer has not reserved it
  kUnmap     // the block
};

/// Answers have an effect once per process, however many of its ranks are asked; undoing what was
/// not done is no error.
struct Question {
  Verb verb;
  uint32_t reserved;
  Span range;
  Span block;
  uint64_t flags;
  uint64_t serial;
  uint64_t shareable;
};
static_assert(sizeof(Question) == 64);

/// Has all other ranks of the member's communicator answer. Without the lock.
inline int32_t ask(const Member& member, const Question& question) {
  return member.group.ask(member.group.self, &question, sizeof question);
}

}  // namespace weft::zerocopy
