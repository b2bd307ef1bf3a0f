// SPDX-License-Identifier: Apache-2.0
#include "schedule/check.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "schedule/builder.hpp"
#include "schedule/check_machine.hpp"
#include "schedule/dump.hpp"

namespace weft::schedule {
namespace {

constexpr uint64_t kMaxCells = uint64_t{1} << 26;

Report report(Fault fault, const std::string& text, const Evidence& evidence = {}) {
  return {fault, std::string(fault_name(fault)) + ": " + text, evidence};
}

std::string rank_text(const Schedule& s) { return "rank " + std::to_string(s.shape.rank); }

/// The one number of parts that blocks are cut into.
Report find_parts(std::span<const Schedule> schedules, uint32_t& parts) {
  for (const Schedule& s : schedules) {
    for (const weft_chunk& chunk : s.operands) {
      if (chunk.parts == 1 || chunk.parts == parts) continue;
      if (parts != 1) {
        return report(Fault::kMalformed,
                      rank_text(s) + " cuts blocks into " + std::to_string(chunk.parts) +
                          " parts, an earlier step or rank into " + std::to_string(parts) +
                          ": such cuts do not nest, since parts are rounded up");
      }
      parts = chunk.parts;
    }
  }
  return {};
}

Report check_shapes(std::span<const Schedule> schedules) {
  if (schedules.empty()) return report(Fault::kMalformed, "no schedule");
  const Shape& first = schedules[0].shape;
  for (size_t r = 0; r < schedules.size(); ++r) {
    const Shape& shape = schedules[r].shape;
    if (shape.rank != r || shape.ranks != schedules.size() || shape.op != first.op ||
        shape.root != first.root) {
      return report(Fault::kMalformed,
                    "schedule " + std::to_string(r) + " is not that of rank " + std::to_string(r));
    }
  }
  return {};
}

/// Ranks cut a long call into pieces that fit into Scratch: all of them into the same.
Report check_scratch(std::span<const Schedule> schedules) {
  for (const Schedule& s : schedules) {
    if (s.scratch_blocks == schedules[0].scratch_blocks) continue;
    return report(Fault::kScratch,
                  "rank 0 names " + std::to_string(schedules[0].scratch_blocks) +
                      " blocks of scratch, " + rank_text(s) + " names " +
                      std::to_string(s.scratch_blocks) + ": all ranks must name the same number",
                  {{},
                   {},
                   std::to_string(schedules[0].scratch_blocks) + " blocks, as on rank 0",
                   std::to_string(s.scratch_blocks) + " blocks",
                   {0, s.shape.rank}});
  }
  return {};
}

Report check_remote_write(std::span<const Schedule> schedules, uint32_t flags) {
  if ((flags & WEFT_ALGORITHM_REMOTE_WRITE) != 0) return {};
  for (const Schedule& s : schedules) {
    for (size_t i = 0; i < s.steps.size(); ++i) {
      for (const weft_chunk& dst : s.dsts(s.steps[i])) {
        if (dst.rank == s.shape.rank) continue;
        return report(Fault::kRemoteWrite,
                      rank_text(s) + ", step " + std::to_string(i) + " (" +
                          dump_step(s, s.steps[i], 3) + ") writes to rank " +
                          std::to_string(dst.rank) + ", but REMOTE_WRITE is not declared",
                      {{{s.shape.rank, 1, static_cast<uint32_t>(i), 0}}, dst, {}, {}});
      }
    }
  }
  return {};
}

/// The step of a verb with this peer that comes after `before` others of the kind.
std::vector<Event> find_step(const Schedule& s, uint32_t verb, uint32_t peer, uint64_t before) {
  for (uint32_t i = 0; i < s.steps.size(); ++i) {
    if (s.steps[i].verb != verb || s.steps[i].peer != peer) continue;
    if (before-- == 0) return {{s.shape.rank, 1, i, 0}};
  }
  return {};
}

Report check_signals(std::span<const Schedule> schedules) {
  const size_t n = schedules.size();
  std::vector<uint64_t> signals(n * n);
  std::vector<uint64_t> waits(n * n);
  for (const Schedule& s : schedules) {
    for (const Step& step : s.steps) {
      if (step.verb == WEFT_VERB_SIGNAL) ++signals[s.shape.rank * n + step.peer];
      if (step.verb == WEFT_VERB_WAIT) ++waits[step.peer * n + s.shape.rank];
    }
  }
  for (size_t i = 0; i < n * n; ++i) {
    if (signals[i] == waits[i]) continue;
    const std::string from = "rank " + std::to_string(i / n);
    const std::string to = "rank " + std::to_string(i % n);
    std::string text = "in a call, " + from + " signals " + to;
    text += " " + std::to_string(signals[i]) + " times, but " + to;
    text += " waits for " + from + " " + std::to_string(waits[i]) + " times";
    const auto a = static_cast<uint32_t>(i / n);
    const auto b = static_cast<uint32_t>(i % n);
    const bool more = signals[i] > waits[i];
    return report(Fault::kSignals, text,
                  {more ? find_step(schedules[a], WEFT_VERB_SIGNAL, b, waits[i])
                        : find_step(schedules[b], WEFT_VERB_WAIT, a, signals[i]),
                   {},
                   std::to_string(signals[i]) + (signals[i] == 1 ? " wait" : " waits"),
                   std::to_string(waits[i]),
                   {a, b}});
  }
  return {};
}

/// Bounds the memory of the run.
Report check_size(std::span<const Schedule> schedules, uint32_t parts, uint32_t areas) {
  const Shape& shape = schedules[0].shape;
  const uint64_t blocks = in_blocks(shape.op, shape.ranks) + out_blocks(shape.op, shape.ranks) +
                          uint64_t{areas} * schedules[0].scratch_blocks;
  if (blocks * parts * shape.ranks <= kMaxCells) return {};
  return report(Fault::kMalformed, "too large to be checked: " + std::to_string(shape.ranks) +
                                       " ranks with " + std::to_string(blocks) + " blocks of " +
                                       std::to_string(parts) + " parts");
}

bool same_schedule(const Schedule& a, const Schedule& b) {
  const auto same_step = [](const Step& x, const Step& y) {
    return x.verb == y.verb && x.peer == y.peer && x.dst_count == y.dst_count &&
           x.src_count == y.src_count;
  };
  const auto same_chunk = [](const weft_chunk& x, const weft_chunk& y) {
    return x.space == y.space && x.rank == y.rank && x.block == y.block && x.part == y.part &&
           x.parts == y.parts;
  };
  return a.scratch_blocks == b.scratch_blocks && std::ranges::equal(a.steps, b.steps, same_step) &&
         std::ranges::equal(a.operands, b.operands, same_chunk);
}

}  // namespace

bool has_placements(uint32_t op) noexcept {
  switch (op) {
    case WEFT_OP_BROADCAST:
    case WEFT_OP_ALL_TO_ALL:
    case WEFT_OP_ALL_TO_ALL_V:
    case WEFT_OP_BARRIER:
      return false;
    default:
      return true;
  }
}

const char* placement_name(Placement placement) noexcept {
  switch (placement) {
    case Placement::kInPlace:
      return "in place";
    case Placement::kMixed:
      return "even ranks in place";
    default:
      return "not in place";
  }
}

const char* fault_name(Fault fault) noexcept {
  switch (fault) {
    case Fault::kNone:
      return "no fault";
    case Fault::kMalformed:
      return "malformed schedule";
    case Fault::kScratch:
      return "scratch differs";
    case Fault::kRemoteWrite:
      return "undeclared remote write";
    case Fault::kSignals:
      return "unmatched signals";
    case Fault::kDeadlock:
      return "deadlock";
    case Fault::kAddress:
      return "unknown address";
    case Fault::kRace:
      return "data race";
    case Fault::kInputOverwritten:
      return "input overwritten";
    case Fault::kWrongResult:
      return "wrong result";
    case Fault::kDiffers:
      return "results differ";
    case Fault::kRankOrder:
      return "not in rank order";
    case Fault::kUnsynchronised:
      return "call not synchronised";
    case Fault::kAhead:
      return "too many signals ahead";
    case Fault::kImpure:
      return "not pure";
  }
  return "?";
}

Report check(std::span<const Schedule> schedules, uint32_t flags, const Options& options) {
  if (Report found = check_shapes(schedules); !found.ok()) return found;
  uint32_t parts = 1;
  if (Report found = find_parts(schedules, parts); !found.ok()) return found;
  if (Report found = check_scratch(schedules); !found.ok()) return found;
  if (Report found = check_remote_write(schedules, flags); !found.ok()) return found;
  if (Report found = check_signals(schedules); !found.ok()) return found;
  if (Report found = check_size(schedules, parts, options.scratch_areas); !found.ok()) return found;
  std::vector<Placement> placements = options.placements;
  if (!has_placements(schedules[0].shape.op)) placements = {Placement::kSeparate};
  for (const Placement placement : placements) {
    // As written, and with small copies inside signals, as the binder would have them.
    Report found = Machine(schedules, parts, flags, options, placement, false).run();
    if (found.ok()) found = Machine(schedules, parts, flags, options, placement, true).run();
    if (!found.ok()) return found;
  }
  return check_room(schedules);
}

Report check(const weft_algorithm& algorithm, const char* name, const Shape& shape,
             std::span<const int64_t> params, const Options& options,
             std::vector<Schedule>* emitted) {
  if (algorithm.min_ranks < 2) {
    return report(Fault::kMalformed,
                  std::string(name) + " declares min_ranks < 2: a single rank is the core's work");
  }
  std::vector<Schedule> own;
  std::vector<Schedule>& schedules = emitted == nullptr ? own : *emitted;
  schedules.clear();
  const auto ask = [&](uint32_t r) {
    return emit(algorithm, name, {shape.op, shape.ranks, r, shape.root}, params);
  };
  try {
    for (uint32_t r = 0; r < shape.ranks; ++r) schedules.push_back(ask(r));
    for (const Schedule& first : schedules) {
      if (same_schedule(first, ask(first.shape.rank))) continue;
      return report(Fault::kImpure, std::string(name) + " gives " + rank_text(first) +
                                        " another schedule when it is asked again");
    }
  } catch (const Error& error) {
    return report(Fault::kMalformed, error.what());
  }
  return check(schedules, algorithm.flags, options);
}

}  // namespace weft::schedule
