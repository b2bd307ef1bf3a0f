// SPDX-License-Identifier: Apache-2.0
// What the checker demands of a step, of a call that has ended and of a run that has stopped.
#include <algorithm>

#include "schedule/check_machine.hpp"
#include "schedule/dump.hpp"

namespace weft::schedule {
namespace {

/// Operations with the same result on all ranks.
bool same_everywhere(uint32_t op) { return op == WEFT_OP_ALL_REDUCE || op == WEFT_OP_BROADCAST; }

}  // namespace

void Machine::check_addresses(uint32_t r, const Step& step) {
  const Schedule& program = schedule(r);
  for (uint32_t i = 0; i < step.dst_count + step.src_count; ++i) {
    const weft_chunk& chunk = program.operands[step.first + i];
    if (chunk.rank == r || chunk.space == WEFT_SPACE_SCRATCH || ranks_[r].heard[chunk.rank])
      continue;
    fail(Fault::kAddress,
         text(event(r, ranks_[r].step)) + " touches " + dump_chunk(shape_, chunk) +
             " before it has waited for rank " + std::to_string(chunk.rank) +
             " in this call: its address is not known yet",
         {{event(r, ranks_[r].step)}, chunk, {}, {}});
  }
}

std::vector<Input> Machine::expected(const weft_chunk& chunk, uint32_t call) const {
  std::vector<Input> inputs;
  switch (shape_.op) {
    case WEFT_OP_ALL_REDUCE:
    case WEFT_OP_REDUCE:
      for (uint32_t q = 0; q < ranks(); ++q) inputs.push_back({call, q, 0});
      break;
    case WEFT_OP_REDUCE_SCATTER:
    case WEFT_OP_REDUCE_SCATTER_V:
      for (uint32_t q = 0; q < ranks(); ++q) inputs.push_back({call, q, chunk.rank});
      break;
    case WEFT_OP_BROADCAST:
      inputs.push_back({call, shape_.root, 0});
      break;
    case WEFT_OP_SCATTER:
      inputs.push_back({call, shape_.root, chunk.rank});
      break;
    case WEFT_OP_ALL_GATHER:
    case WEFT_OP_ALL_GATHER_V:
      inputs.push_back({call, chunk.block, 0});
      break;
    case WEFT_OP_ALL_TO_ALL:
    case WEFT_OP_ALL_TO_ALL_V:
      inputs.push_back({call, chunk.block, chunk.rank});
      break;
    default:
      break;
  }
  return inputs;
}

void Machine::check_result(uint32_t r, const weft_chunk& chunk, const Cell& cell) {
  const Value value = cell.value;
  const uint32_t call = ranks_[r].call;
  if (same_everywhere(shape_.op) && value != Values::kUnknown &&
      value == first_result_[call][chunk.part]) {
    return;  // found good on another rank
  }
  const bool with_blocks = in_blocks(shape_.op, ranks()) > 1;
  const std::vector<Input> wanted = expected(chunk, call);
  const std::vector<Input> found = values_.inputs(value, 4 * wanted.size() + 4);
  std::string faults;
  std::vector<uint32_t> whose;
  for (const Input& input : wanted) {
    const auto times = std::count(found.begin(), found.end(), input);
    if (times == 1) continue;
    whose.push_back(input.rank);
    faults += "; " + input_text(input, call, with_blocks) +
              (times == 0 ? " is missing" : " counts " + std::to_string(times) + " times");
  }
  for (auto input = found.begin(); input != found.end(); ++input) {
    if (std::find(wanted.begin(), wanted.end(), *input) != wanted.end()) continue;
    if (std::find(found.begin(), input, *input) != input) continue;  // told already
    whose.push_back(input->rank);
    faults += "; " + input_text(*input, call, with_blocks) + " does not belong there";
  }
  const bool stale = values_.has_unknown(value);
  if (faults.empty() && stale) faults = "; what was there before is used";
  if (!faults.empty()) {
    std::string all;
    for (const Input& input : wanted) {
      all += (all.empty() ? "" : " + ") + input_text(input, call, with_blocks);
    }
    const Evidence evidence{{cell.write}, chunk, all, values_.text(value, call, with_blocks),
                            whose,        stale};
    doubt(Fault::kWrongResult,
          "after call " + std::to_string(call) + ", " + dump_chunk(shape_, chunk) + " = " +
              evidence.found + faults,
          evidence);
    return;
  }
  check_order(r, chunk, cell);
}

void Machine::check_order(uint32_t r, const weft_chunk& chunk, const Cell& cell) {
  const Value value = cell.value;
  const uint32_t call = ranks_[r].call;
  const bool with_blocks = in_blocks(shape_.op, ranks()) > 1;
  if ((flags_ & WEFT_ALGORITHM_RANK_ORDER) != 0) {
    const bool in_order = values_.inputs(value, ranks()) == expected(chunk, call);
    if (!in_order || !values_.is_left_to_right(value)) {
      const std::string text = values_.text(value, call, with_blocks);
      doubt(Fault::kRankOrder,
            dump_chunk(shape_, chunk) + " = " + text +
                ", not summed from rank 0 to rank n-1 as declared",
            {{cell.write}, chunk, "summed from rank 0 to rank n-1, without brackets", text});
    }
  }
  if (!same_everywhere(shape_.op)) return;
  Value& first = first_result_[call][chunk.part];
  if (first == Values::kUnknown) {
    first = value;
  } else {
    const std::string text = values_.text(value, call, with_blocks);
    const std::string other = values_.text(first, call, with_blocks);
    doubt(Fault::kDiffers,
          dump_chunk(shape_, chunk) + " = " + text + ", but another rank has " + other +
              ": the last bits of the results may differ",
          {{cell.write}, chunk, other + ", as on another rank", text});
  }
}

void Machine::check_synchronised(uint32_t r) {
  if (shape_.op != WEFT_OP_BARRIER) return;
  const uint32_t call = ranks_[r].call;
  for (uint32_t q = 0; q < ranks(); ++q) {
    const std::vector<uint32_t>& begun = ranks_[q].begun;
    if (begun.size() > call && begun[call] <= ranks_[r].clock[q]) continue;
    doubt(Fault::kUnsynchronised,
          "rank " + std::to_string(r) + " can end call " + std::to_string(call) + " before rank " +
              std::to_string(q) + " has begun it: no chain of signals leads from " +
              std::to_string(q) + " to " + std::to_string(r) + ", so this is no barrier",
          {{{r, call + 1, kCallerStep, 0}, {q, call, kCallerStep, 0}}, {}, {}, {}});
    return;
  }
}

void Machine::check_deadlock() {
  const auto stuck = std::find_if(ranks_.begin(), ranks_.end(),
                                  [&](const Rank& rank) { return rank.call <= options_.calls; });
  if (stuck == ranks_.end()) return;
  // In every call there are as many signals as waits, so who is waited for is stuck as well: the
  // chain comes back to itself.
  const auto first = static_cast<uint32_t>(stuck - ranks_.begin());
  std::vector<uint32_t> chain = {first};
  for (;;) {
    const uint32_t last = chain.back();
    const uint32_t next = schedule(last).steps[ranks_[last].step].peer;
    const auto seen = std::find(chain.begin(), chain.end(), next);
    if (seen != chain.end()) {
      chain.erase(chain.begin(), seen);
      break;
    }
    chain.push_back(next);
  }
  std::string all;
  Evidence evidence;
  for (const uint32_t r : chain) {
    evidence.events.push_back(event(r, ranks_[r].step));
    all +=
        (all.empty() ? "" : "; ") + text(evidence.events.back()) + " is never reached by a signal";
  }
  fail(Fault::kDeadlock, all, evidence);
}

}  // namespace weft::schedule
