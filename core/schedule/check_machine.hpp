// SPDX-License-Identifier: Apache-2.0
// Runs the schedules of all ranks for several calls on symbols, and stops at the first fault.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "schedule/check.hpp"
#include "schedule/check_memory.hpp"
#include "schedule/check_values.hpp"

namespace weft::schedule {

class Machine {
 public:
  /// `parts`: the number that blocks are cut into. Borrows the schedules.
  Machine(std::span<const Schedule> schedules, uint32_t parts, uint32_t flags,
          const Options& options, Placement placement, bool carry);

  [[nodiscard]] Report run();

 private:
  /// For each rank, how many of its ticks are known to lie in the past.
  using Clock = std::vector<uint32_t>;

  /// A signal on its way, with the copy that it carries, if any.
  struct Message {
    Clock clock;
    const weft_chunk* dst = nullptr;
    std::vector<Value> values;
  };

  struct Rank {
    Clock clock;
    uint32_t call = 0;            // the one that runs, from 1
    uint32_t step = 0;            // the next one
    std::vector<bool> heard;      // peers waited for in this call
    std::vector<bool> told;       // peers signalled in this call
    Message carried;              // what the next signal takes along
    std::vector<uint32_t> begun;  // tick at which each call could begin, from call 1
    std::vector<Clock> ended;     // what was known at the end of each call, from call 1
  };

  [[nodiscard]] const Schedule& schedule(uint32_t rank) const { return schedules_[rank]; }
  [[nodiscard]] uint32_t ranks() const { return static_cast<uint32_t>(schedules_.size()); }

  /// One step of a rank; false if it waits or is done.
  bool advance(uint32_t rank);
  /// The caller of `rank` fills In and Out for the next call.
  void begin_call(uint32_t rank);
  /// The core's promise: a call that uses Scratch does its first step only when all ranks have
  /// ended the call before the last one. False while that is to come.
  bool scratch_is_free(uint32_t rank);
  void end_call(uint32_t rank);
  void move(uint32_t rank, const Step& step);
  /// The same for the i-th cell of each chunk.
  void move_cell(const Schedule& program, const Step& step, const Event& now, uint32_t i);
  bool wait(uint32_t rank, uint32_t peer);
  /// Whether the binder may put this copy into the signal after it: then it reaches Scratch only
  /// when the receiver waits.
  [[nodiscard]] bool carried(uint32_t rank) const;
  void load(uint32_t rank, const Step& copy);
  void unload(uint32_t rank, const Message& message);

  [[nodiscard]] Event event(uint32_t rank, uint32_t step) const;
  void read(uint32_t cell, const Event& now, const weft_chunk& chunk);
  void write(uint32_t cell, const Event& now, const weft_chunk& chunk);
  /// Calls `visit(chunk, cell)` for every cell of In or Out of a rank.
  template <class Visit>
  void each_cell(uint32_t rank, uint32_t space, const Visit& visit);

  void check_addresses(uint32_t rank, const Step& step);
  void check_result(uint32_t rank, const weft_chunk& chunk, const Cell& cell);
  void check_order(uint32_t rank, const weft_chunk& chunk, const Cell& cell);
  void check_synchronised(uint32_t rank);
  void check_deadlock();

  [[nodiscard]] std::vector<Input> expected(const weft_chunk& chunk, uint32_t call) const;
  /// Ends the run.
  void fail(Fault fault, const std::string& text, const Evidence& evidence);
  /// Ends the run later, if nothing worse is found.
  void doubt(Fault fault, const std::string& text, const Evidence& evidence);
  [[nodiscard]] Report report(Fault fault, const std::string& text, const Evidence& evidence) const;
  void fail_race(const Event& earlier, bool earlier_writes, const Event& now, bool writes,
                 const weft_chunk& chunk);
  [[nodiscard]] std::string text(const Event& event) const;

  std::span<const Schedule> schedules_;
  const uint32_t flags_;
  const Options& options_;
  const Placement placement_;
  const bool carry_;
  const Shape shape_;
  const bool uses_scratch_;
  Memory memory_;
  Values values_;
  std::vector<Rank> ranks_;
  std::vector<std::deque<Message>> signals_;      // on their way, [from * ranks + to]
  std::vector<std::vector<Value>> first_result_;  // by call and part, if the same on all ranks
  std::vector<Value> args_;                       // of the step that runs
  Report report_;
  Report doubt_;  // a wrong result: counts only if there is no race, which would explain it
};

}  // namespace weft::schedule
