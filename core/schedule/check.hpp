// SPDX-License-Identifier: Apache-2.0
// The checker: proves that the schedules of all ranks together do what their operation means, by
// running them on symbols instead of data.
//
// What is proved, for any count, type and timing of the ranks, and for several calls in a row:
//  - every signal of a call is waited for in that call, and no rank waits for ever;
//  - any two accesses to the same memory, one of which writes, are ordered by signals. The caller
//    takes part: it owns its buffers, and writes to all of them, between its calls;
//  - a peer's In and Out are touched only after a wait for that peer, which brings the addresses;
//  - every element of Out holds exactly the right contributions of this call, combined in the same
//    order on all ranks, and in rank order if the algorithm declares it; inputs are not
//    overwritten;
//  - no rank ends a barrier before all others have begun it;
//  - no rank stops for ever where only a few of its signals can be on their way to a peer, which is
//    so in the tasks engine;
//  - the algorithm gives the same schedule when it is asked again.
//
// What is taken for granted, because the executor sees to it for every mix of algorithms: Scratch
// alternates between two areas, and a call that uses Scratch does its first step only when all
// ranks have ended the call before the last one.
//
// Why symbols suffice: the chunks of a step are the same part of their blocks, so a step moves
// every element to its own place in other blocks. All elements of a part have the same fate; an
// element of an empty part has none. And no step depends on data, so the order that signals give
// does not depend on timing: one run shows all races.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedule/schedule.hpp"

namespace weft::schedule {

/// What is wrong, by kind.
enum class Fault {
  kNone,
  kMalformed,         // a step or a set of schedules that makes no sense
  kScratch,           // ranks disagree on the number of blocks of Scratch
  kRemoteWrite,       // writes to a peer without having declared it
  kSignals,           // signals and waits of a pair of ranks differ in number
  kDeadlock,          // ranks wait for each other
  kAddress,           // a peer's buffer is touched before its address can be known
  kRace,              // two accesses are not ordered
  kInputOverwritten,  // a user's input is written to
  kWrongResult,       // missing, doubled, stale or foreign contributions
  kDiffers,           // ranks combine the same contributions in different orders
  kRankOrder,         // rank order was declared, but another one is used
  kUnsynchronised,    // a rank can end a barrier that another has not begun
  kAhead,             // ranks wait for each other where few signals can be on their way
  kImpure             // another schedule when asked again
};

/// "data race": for people.
[[nodiscard]] const char* fault_name(Fault fault) noexcept;

/// Where Out is relative to In. Operations that know one form only are checked in that one.
enum class Placement {
  kSeparate,
  kInPlace,  // all_reduce, reduce: Out = In; reduce_scatter(_v), scatter: Out = block r of In;
             // all_gather(_v): In = block r of Out
  kMixed     // in place on even ranks only
};

/// Whether an operation knows more than one placement.
[[nodiscard]] bool has_placements(uint32_t op) noexcept;

/// "in place": for people.
[[nodiscard]] const char* placement_name(Placement placement) noexcept;

struct Options {
  uint32_t calls = 3;
  uint32_t scratch_areas = 2;  // 1 shows what the alternation of areas is good for
  std::vector<Placement> placements = {Placement::kSeparate, Placement::kInPlace,
                                       Placement::kMixed};
};

/// The step of a rank's caller, who owns In and Out between the calls.
inline constexpr uint32_t kCallerStep = UINT32_MAX;

/// Something that a rank did.
struct Event {
  uint32_t rank = 0;
  uint32_t call = 0;  // from 1; of the caller: the call that follows
  uint32_t step = 0;
  uint32_t tick = 0;  // of the rank's clock; 0 is before everything
};

/// A counter-example as data. What a fault does not have is empty.
struct Evidence {
  std::vector<Event> events;  // what clashes, waits or wrote last; where it was noticed comes first
  std::optional<weft_chunk> chunk;
  std::string expected;              // that the chunk should hold, or a pair of ranks should do
  std::string found;                 // that is there instead
  std::vector<uint32_t> ranks = {};  // whose contributions are not right
  bool stale = false;                // what was in memory before the call is used
  Placement placement = Placement::kSeparate;
  bool carried = false;  // small copies travelled inside signals
};

struct Report {
  Fault fault = Fault::kNone;
  std::string
      text;  // the first counter-example: ranks, calls, steps, chunk; empty if there is none
  Evidence evidence = {};

  [[nodiscard]] bool ok() const noexcept { return fault == Fault::kNone; }
};

/// Checks an algorithm for one shape (shape.rank is not used). `params` as for emit. Does not throw
/// for what is wrong with the algorithm. The schedules that were checked are kept in `emitted`,
/// unless it is null; one that was refused, and those after it, are missing.
[[nodiscard]] Report check(const weft_algorithm& algorithm, const char* name, const Shape& shape,
                           std::span<const int64_t> params, const Options& options = {},
                           std::vector<Schedule>* emitted = nullptr);

/// Checks the schedules of ranks 0..n-1 of one shape; `flags` are WEFT_ALGORITHM_*. The schedules
/// must be well formed, as emit makes them.
[[nodiscard]] Report check(std::span<const Schedule> schedules, uint32_t flags,
                           const Options& options = {});

/// Signals from one rank to another that may be on their way at once in every engine.
inline constexpr uint32_t kSignalRoom = 4;

/// Part of check(): whether all ranks come to their end if a rank with `room` signals on their way
/// to a peer stops until that peer has taken one.
[[nodiscard]] Report check_room(std::span<const Schedule> schedules, uint32_t room = kSignalRoom);

}  // namespace weft::schedule
