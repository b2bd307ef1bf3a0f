// SPDX-License-Identifier: Apache-2.0
// Memory of other processes in this one: for every range there, reserved addresses of the same
// size, and the blocks mapped in them. Not locked: the book's lock is held.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime.hpp"
#include "span.hpp"

namespace weft::zerocopy {

/// A range as its owner tells it.
struct RemoteRange {
  uint64_t process;
  Span span;
  uint64_t flags;
  uint64_t serial;
};

struct ImportedBlock {
  uint64_t bytes = 0;
  std::unique_ptr<Import> memory{};
};

struct Shadow {
  uint64_t bytes = 0;
  uint64_t serial = 0;
  bool set = false;  // stays without blocks
  std::shared_ptr<Reservation> room{};
  std::map<uint64_t, ImportedBlock> blocks{};  // by token
};

/// Blocks taken out of the book, still mapped: to be hidden, waited for, and then destroyed.
using Removed = std::map<uint64_t, ImportedBlock>;

class Imports {
 public:
  using Shadows = std::map<uint64_t, Shadow>;  // of one process, by base

  /// The shadow of the range, made if need be. Nothing else may overlap it (see take_stale).
  Shadow& open(const RemoteRange& range);
  Shadow* find(const RemoteRange& range);

  /// Removes what other ranges, that must be gone, have left at this place.
  Removed take_stale(const RemoteRange& range);
  Removed take_range(const RemoteRange& range);
  Removed take_block(const RemoteRange& range, const Span& span);

  const std::map<uint64_t, Shadows>& all() const { return processes_; }
  void drop_process(uint64_t process) { processes_.erase(process); }

 private:
  void forget(uint64_t process, Shadows::iterator shadow);

  std::map<uint64_t, Shadows> processes_;
};

}  // namespace weft::zerocopy
