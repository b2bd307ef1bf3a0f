// SPDX-License-Identifier: Apache-2.0
#include "schedule/check_machine.hpp"

#include <algorithm>

#include "schedule/dump.hpp"

namespace weft::schedule {
namespace {

uint32_t most_scratch_blocks(std::span<const Schedule> schedules) {
  uint32_t most = 0;
  for (const Schedule& s : schedules) most = std::max(most, s.scratch_blocks);
  return most;
}

/// Adds to `clock` what `other` knows.
void learn(std::vector<uint32_t>& clock, const std::vector<uint32_t>& other) {
  for (size_t q = 0; q < clock.size(); ++q) clock[q] = std::max(clock[q], other[q]);
}

std::string placement_text(uint32_t op, Placement placement) {
  if (!has_placements(op)) return "";
  return std::string(" (") + placement_name(placement) + ")";
}

}  // namespace

Machine::Machine(std::span<const Schedule> schedules, uint32_t parts, uint32_t flags,
                 const Options& options, Placement placement, bool carry)
    : schedules_(schedules),
      flags_(flags),
      options_(options),
      placement_(placement),
      carry_(carry),
      shape_(schedules[0].shape),
      uses_scratch_(most_scratch_blocks(schedules) > 0),
      memory_({shape_.op, shape_.ranks, parts, most_scratch_blocks(schedules),
               options.scratch_areas, placement, shape_.root}),
      ranks_(schedules.size()),
      signals_(schedules.size() * schedules.size()),
      first_result_(options.calls + 1, std::vector<Value>(parts, Values::kUnknown)) {
  for (Rank& rank : ranks_) {
    rank.clock.assign(schedules.size(), 0);
    rank.heard.assign(schedules.size(), false);
    rank.told.assign(schedules.size(), false);
    rank.begun.assign(1, 0);
    rank.ended.emplace_back();
  }
}

Report Machine::run() {
  for (uint32_t r = 0; r < ranks(); ++r) begin_call(r);
  for (bool moved = true; moved && report_.ok();) {
    moved = false;
    for (uint32_t r = 0; r < ranks() && report_.ok(); ++r) {
      while (report_.ok() && advance(r)) moved = true;
    }
  }
  if (report_.ok()) check_deadlock();
  return report_.ok() ? doubt_ : report_;
}

bool Machine::advance(uint32_t r) {
  Rank& rank = ranks_[r];
  if (rank.call > options_.calls) return false;
  const Schedule& program = schedule(r);
  if (rank.step == 0 && !scratch_is_free(r)) return false;
  if (rank.step == program.steps.size()) {
    end_call(r);
    return true;
  }
  const Step& step = program.steps[rank.step];
  if (step.verb == WEFT_VERB_WAIT && !wait(r, step.peer)) return false;
  ++rank.clock[r];
  if (step.verb == WEFT_VERB_SIGNAL) {
    rank.carried.clock = rank.clock;
    signals_[r * ranks() + step.peer].push_back(std::move(rank.carried));
    rank.carried = {};
    rank.told[step.peer] = true;
  } else if (carried(r)) {
    load(r, step);
  } else if (step.verb != WEFT_VERB_WAIT) {
    move(r, step);
  }
  ++rank.step;
  return true;
}

bool Machine::wait(uint32_t r, uint32_t peer) {
  std::deque<Message>& arrived = signals_[peer * ranks() + r];
  if (arrived.empty()) return false;
  learn(ranks_[r].clock, arrived.front().clock);
  if (arrived.front().dst != nullptr) unload(r, arrived.front());
  arrived.pop_front();
  ranks_[r].heard[peer] = true;
  return true;
}

bool Machine::carried(uint32_t r) const {
  const Schedule& program = schedule(r);
  const uint32_t at = ranks_[r].step;
  const Step& copy = program.steps[at];
  if (!carry_ || copy.verb != WEFT_VERB_COPY || copy.dst_count != 1) return false;
  if (at + 1 == program.steps.size()) return false;
  const weft_chunk& dst = program.dsts(copy)[0];
  const Step& next = program.steps[at + 1];
  return next.verb == WEFT_VERB_SIGNAL && dst.space == WEFT_SPACE_SCRATCH &&
         dst.rank == next.peer && !ranks_[r].told[next.peer];
}

void Machine::load(uint32_t r, const Step& copy) {
  const Schedule& program = schedule(r);
  const Event now = event(r, ranks_[r].step);
  check_addresses(r, copy);
  const weft_chunk& src = program.srcs(copy)[0];
  Message& message = ranks_[r].carried;
  message.dst = program.dsts(copy).data();
  const auto cells = memory_.cells(src, now.call);
  for (uint32_t i = 0; i < cells.count; ++i) {
    message.values.push_back(memory_[cells.first + i].value);
    read(cells.first + i, now, src);
  }
}

void Machine::unload(uint32_t r, const Message& message) {
  ++ranks_[r].clock[r];
  const Event now = event(r, ranks_[r].step);
  const auto cells = memory_.cells(*message.dst, now.call);
  for (uint32_t i = 0; i < cells.count; ++i) {
    write(cells.first + i, now, *message.dst);
    memory_[cells.first + i].value = message.values[i];
  }
}

bool Machine::scratch_is_free(uint32_t r) {
  Rank& rank = ranks_[r];
  if (!uses_scratch_ || rank.call < 3) return true;
  const uint32_t needed = rank.call - 2;
  for (const Rank& other : ranks_) {
    if (other.ended.size() <= needed) return false;
  }
  for (const Rank& other : ranks_) learn(rank.clock, other.ended[needed]);
  return true;
}

template <class Visit>
void Machine::each_cell(uint32_t rank, uint32_t space, const Visit& visit) {
  const bool in = space == WEFT_SPACE_IN;
  const uint32_t blocks =
      in ? in_blocks(shape_.op, shape_.ranks) : out_blocks(shape_.op, shape_.ranks);
  for (uint32_t block = 0; block < blocks; ++block) {
    for (uint32_t part = 0; part < memory_.parts(); ++part) {
      const weft_chunk chunk{space, rank, block, part, memory_.parts()};
      visit(chunk, memory_.cells(chunk, 0).first);
    }
  }
}

void Machine::begin_call(uint32_t r) {
  Rank& rank = ranks_[r];
  ++rank.call;
  rank.step = 0;
  rank.heard.assign(ranks(), false);
  rank.told.assign(ranks(), false);
  ++rank.clock[r];
  rank.begun.push_back(rank.clock[r]);
  const Event now = event(r, kCallerStep);
  if (has_output(shape_, r)) {
    each_cell(r, WEFT_SPACE_OUT, [&](const weft_chunk& chunk, uint32_t cell) {
      write(cell, now, chunk);
      memory_[cell].value = Values::kUnknown;
    });
  }
  if (!has_input(shape_, r)) return;
  each_cell(r, WEFT_SPACE_IN, [&](const weft_chunk& chunk, uint32_t cell) {
    write(cell, now, chunk);
    memory_[cell].value = values_.input({rank.call, r, chunk.block});
  });
}

void Machine::end_call(uint32_t r) {
  ++ranks_[r].clock[r];
  Event now = event(r, kCallerStep);
  ++now.call;  // the caller has its buffers back, before the next call
  if (has_output(shape_, r)) {
    each_cell(r, WEFT_SPACE_OUT, [&](const weft_chunk& chunk, uint32_t cell) {
      read(cell, now, chunk);
      check_result(r, chunk, memory_[cell]);
    });
  }
  check_synchronised(r);
  ranks_[r].ended.push_back(ranks_[r].clock);
  if (report_.ok()) begin_call(r);
}

void Machine::move(uint32_t r, const Step& step) {
  const Schedule& program = schedule(r);
  const Event now = event(r, ranks_[r].step);
  check_addresses(r, step);
  const uint32_t count = memory_.cells(program.operands[step.first], now.call).count;
  for (uint32_t i = 0; i < count && report_.ok(); ++i) move_cell(program, step, now, i);
}

void Machine::move_cell(const Schedule& program, const Step& step, const Event& now, uint32_t i) {
  args_.clear();
  uint32_t source = 0;
  for (const weft_chunk& src : program.srcs(step)) {
    source = memory_.cells(src, now.call).first + i;
    args_.push_back(memory_[source].value);
  }
  const Value value = values_.reduced(args_);
  bool reads = step.verb == WEFT_VERB_REDUCE;
  for (const weft_chunk& dst : program.dsts(step)) {
    const uint32_t cell = memory_.cells(dst, now.call).first + i;
    if (step.verb == WEFT_VERB_COPY && cell == source) continue;  // dropped by the executor
    reads = true;
    if (!memory_.writable(cell)) {
      fail(Fault::kInputOverwritten,
           text(now) + " writes to " + dump_chunk(shape_, dst) + ", an input of the caller",
           {{now}, dst, {}, {}});
    }
    write(cell, now, dst);
    memory_[cell].value = value;
  }
  if (!reads) return;
  for (const weft_chunk& src : program.srcs(step)) {
    read(memory_.cells(src, now.call).first + i, now, src);
  }
}

Event Machine::event(uint32_t r, uint32_t step) const {
  return {r, ranks_[r].call, step, ranks_[r].clock[r]};
}

void Machine::read(uint32_t cell_index, const Event& now, const weft_chunk& chunk) {
  Cell& cell = memory_[cell_index];
  const Clock& clock = ranks_[now.rank].clock;
  if (cell.write.tick > clock[cell.write.rank]) fail_race(cell.write, true, now, false, chunk);
  const auto own = std::find_if(cell.reads.begin(), cell.reads.end(),
                                [&](const Event& e) { return e.rank == now.rank; });
  if (own == cell.reads.end()) {
    cell.reads.push_back(now);
  } else {
    *own = now;
  }
}

void Machine::write(uint32_t cell_index, const Event& now, const weft_chunk& chunk) {
  Cell& cell = memory_[cell_index];
  const Clock& clock = ranks_[now.rank].clock;
  if (cell.write.tick > clock[cell.write.rank]) fail_race(cell.write, true, now, true, chunk);
  for (const Event& read : cell.reads) {
    if (read.tick > clock[read.rank]) fail_race(read, false, now, true, chunk);
  }
  cell.reads.clear();
  cell.write = now;
}

void Machine::fail(Fault fault, const std::string& text, const Evidence& evidence) {
  if (report_.ok()) report_ = report(fault, text, evidence);
}

void Machine::doubt(Fault fault, const std::string& text, const Evidence& evidence) {
  if (doubt_.ok()) doubt_ = report(fault, text, evidence);
}

Report Machine::report(Fault fault, const std::string& text, const Evidence& evidence) const {
  Report made{fault,
              std::string(fault_name(fault)) + placement_text(shape_.op, placement_) + ": " + text,
              evidence};
  made.evidence.placement = placement_;
  made.evidence.carried = carry_;
  return made;
}

void Machine::fail_race(const Event& earlier, bool earlier_writes, const Event& now, bool writes,
                        const weft_chunk& chunk) {
  fail(Fault::kRace,
       dump_chunk(shape_, chunk) + " is " + (writes ? "written" : "read") + " by " + text(now) +
           " and " + (earlier_writes ? "written" : "read") + " by " + text(earlier) +
           ", and no signal orders them",
       {{now, earlier}, chunk, {}, {}});
}

std::string Machine::text(const Event& event) const {
  if (event.step == kCallerStep) {
    const std::string caller = "the caller of rank " + std::to_string(event.rank);
    if (event.call == 1) return caller + " before its call 1";
    return caller + " after its call " + std::to_string(event.call - 1);
  }
  const Schedule& program = schedule(event.rank);
  return "rank " + std::to_string(event.rank) + ", call " + std::to_string(event.call) + ", step " +
         std::to_string(event.step) + " (" + dump_step(program, program.steps[event.step], 3) + ")";
}

}  // namespace weft::schedule
