// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <string>

#include "proof/picture.hpp"
#include "schedule/dump.hpp"

namespace weft::proof {
namespace {

using schedule::Event;
using schedule::Evidence;
using schedule::Fault;
using schedule::Placement;

std::string name_of(uint32_t r) { return "rank " + std::to_string(r); }
std::string call_of(const char* verb, uint32_t peer) {
  return std::string(verb) + "(" + std::to_string(peer) + ")";
}

std::string on_signals(const Evidence& evidence, const CounterExample& found) {
  if (evidence.events.empty()) return "";
  const uint32_t from = evidence.ranks[0];
  const uint32_t to = evidence.ranks[1];
  const Event& event = evidence.events[0];
  const bool signal =
      found.schedules[event.rank].steps[event.step].verb == WEFT_VERB_SIGNAL;  // one too many
  std::string text =
      signal ? "let " + name_of(to) + " " + call_of("wait", from) + " once more, or drop a " +
                   call_of("signal", to) + " of " + name_of(from)
             : "let " + name_of(from) + " " + call_of("signal", to) + " once more, or drop a " +
                   call_of("wait", from) + " of " + name_of(to);
  const bool never = evidence.found == "0" || evidence.expected.starts_with("0 ");
  return never ? text + "; or is it another rank that is meant?" : text;
}

/// One of the two is the caller: it has its memory back too early.
std::string on_caller(const Event& caller, const Event& step) {
  return name_of(caller.rank) + " can end its call while " + name_of(step.rank) +
         " still uses its memory: let " + name_of(step.rank) + " " +
         call_of("signal", caller.rank) + " after step " + std::to_string(step.step) + ", and " +
         name_of(caller.rank) + " " + call_of("wait", step.rank) + " at its end";
}

std::string on_race(const Evidence& evidence) {
  const Event& now = evidence.events[0];
  const Event& earlier = evidence.events[1];
  std::string text;
  if (now.step == schedule::kCallerStep) {
    text = on_caller(now, earlier);
  } else if (earlier.step == schedule::kCallerStep) {
    text = on_caller(earlier, now);
  } else {
    text = "if step " + std::to_string(earlier.step) + " of " + name_of(earlier.rank) +
           " is to be first, let it be followed by " + call_of("signal", now.rank) +
           " there, and " + call_of("wait", earlier.rank) + " stand before step " +
           std::to_string(now.step) + " of " + name_of(now.rank) + "; else the other way round";
  }
  if (evidence.carried) {
    text +=
        ". A short copy into a peer's Scratch right before the first signal to that peer travels "
        "inside the signal: only that peer may read it, after its wait";
  }
  if (evidence.placement != Placement::kSeparate) {
    text +=
        ". With separate buffers it is right: in place, In and Out are the same memory, so who "
        "reads In of a peer must have done so before that peer's Out is written";
  }
  return text;
}

/// Powers of two on both sides are right, and this number, which is none, is not.
std::string on_power_of_two(const plugin::Algorithm& algorithm, const Case& of) {
  const uint32_t above = std::bit_ceil(of.ranks);
  const uint32_t below = above / 2;
  if (above == of.ranks || !serves(algorithm, below) || !serves(algorithm, above)) return "";
  for (const uint32_t n : {below, above}) {
    if (refute(algorithm, {n, 0, of.params})) return "";
  }
  return "it is right for " + std::to_string(below) + " and " + std::to_string(above) +
         " ranks: does it take the number of ranks for a power of two?";
}

std::string on_result(const plugin::Algorithm& algorithm, const CounterExample& found) {
  std::string text = on_power_of_two(algorithm, found.of);
  if (!text.empty()) return text;
  const Evidence& evidence = found.report.evidence;
  if (evidence.events[0].step == schedule::kCallerStep) return "no step writes it: let one do so";
  if (evidence.stale) {
    return "the first step that writes a block must not count what was there: begin with a copy, "
           "or name all that is summed as sources of one reduce";
  }
  return "the step marked with ! wrote it last: look at its sources, and at what they held then";
}

}  // namespace

std::string advice(const plugin::Algorithm& algorithm, const CounterExample& found) {
  const Evidence& evidence = found.report.evidence;
  switch (found.report.fault) {
    case Fault::kScratch: {
      uint32_t most = 0;
      for (const auto& each : found.schedules) most = std::max(most, each.scratch_blocks);
      return "say the same number on all ranks: s.reserve(" + std::to_string(most) + ")";
    }
    case Fault::kRemoteWrite:
      return "declare .flags = WEFT_ALGORITHM_REMOTE_WRITE, or let the rank that owns the memory "
             "read instead";
    case Fault::kSignals:
      return on_signals(evidence, found);
    case Fault::kDeadlock:
      return "each of these ranks waits for the next one: let one of them signal before it waits";
    case Fault::kAddress:
      return "put " + call_of("wait", evidence.chunk->rank) +
             " before this step: the first signal of " + name_of(evidence.chunk->rank) +
             " in a call brings where its In and Out are";
    case Fault::kRace:
      return on_race(evidence);
    case Fault::kInputOverwritten:
      return "In belongs to the caller: write to Out or Scratch";
    case Fault::kWrongResult:
      return on_result(algorithm, found);
    case Fault::kDiffers:
      return "sum in one order everywhere: p.everyone(piece) is in rank order";
    case Fault::kRankOrder:
      return "sum p.everyone(piece) in one step, or do not declare WEFT_ALGORITHM_RANK_ORDER";
    case Fault::kUnsynchronised:
      return "a chain of signals must lead from every rank to every other";
    case Fault::kAhead:
      return "let the receiver signal back before the fifth signal that it has not waited for";
    case Fault::kImpure:
      return "make the schedule from the problem alone: no statics, clocks or random numbers";
    case Fault::kMalformed:
      if (found.schedules.size() == found.of.ranks) return "";  // the text says it
      return "repair what it writes; if it is not meant for " + std::to_string(found.of.ranks) +
             " ranks, declare .min_ranks and .max_ranks";
    default:
      return "";
  }
}

}  // namespace weft::proof
