// SPDX-License-Identifier: Apache-2.0
#include "schedule/cost.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace weft::schedule {
namespace {

/// The signals and waits of all ranks, played in any order that they allow.
class Chains {
 public:
  explicit Chains(uint32_t ranks) : ranks_(ranks), sent_(size_t{ranks} * ranks), members_(ranks) {}

  void add(const Schedule& schedule) {
    for (const Step& step : schedule.steps) {
      if (step.verb != WEFT_VERB_SIGNAL && step.verb != WEFT_VERB_WAIT) continue;
      members_[schedule.shape.rank].syncs.push_back({step.peer, step.verb == WEFT_VERB_SIGNAL});
    }
  }

  uint32_t longest() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (uint32_t rank = 0; rank < ranks_; ++rank) moved |= advance(rank);
    }
    uint32_t depth = 0;
    for (uint32_t rank = 0; rank < ranks_; ++rank) {
      if (members_[rank].next < members_[rank].syncs.size()) stuck(rank);
      depth = std::max(depth, members_[rank].depth);
    }
    return depth;
  }

 private:
  struct Sync {
    uint32_t peer;
    bool is_signal;
  };
  struct Member {
    std::vector<Sync> syncs;
    size_t next = 0;
    uint32_t depth = 0;  // signals in the longest chain that has come here
  };
  /// The depths at which signals were sent, in order, and how many were waited for.
  struct Sent {
    std::vector<uint32_t> depths;
    size_t taken = 0;
  };

  /// As far as it can go. True if that is anywhere.
  bool advance(uint32_t rank) {
    Member& member = members_[rank];
    const size_t before = member.next;
    for (; member.next < member.syncs.size(); ++member.next) {
      const Sync& sync = member.syncs[member.next];
      if (sync.is_signal) {
        sent_[size_t{rank} * ranks_ + sync.peer].depths.push_back(member.depth + 1);
        continue;
      }
      Sent& from = sent_[size_t{sync.peer} * ranks_ + rank];
      if (from.taken == from.depths.size()) break;
      member.depth = std::max(member.depth, from.depths[from.taken++]);
    }
    return member.next != before;
  }

  [[noreturn]] void stuck(uint32_t rank) const {
    const Member& member = members_[rank];
    throw Error(HCCL_E_INTERNAL, "rank " + std::to_string(rank) + " waits for a signal of rank " +
                                     std::to_string(member.syncs[member.next].peer) +
                                     " that never comes; `weft check` tells more");
  }

  const uint32_t ranks_;
  std::vector<Sent> sent_;  // from * ranks + to
  std::vector<Member> members_;
};

void add(const PlanBody& body, const Shape& shape, uint64_t element, uint64_t times,
         RankCost& cost) {
  for (const PlanStep& step : body.steps) {
    const bool carries = step.opcode == Opcode::kSignalCarry;
    const bool moves = step.opcode == Opcode::kCopy || step.opcode == Opcode::kReduce;
    if (carries) cost.written += step.length * times;
    if (!moves) continue;
    const uint64_t bytes = step.length * (step.opcode == Opcode::kReduce ? element : 1) * times;
    for (uint32_t i = 0; i < step.dst_count + step.src_count; ++i) {
      if (body.operands[step.first + i].base % shape.ranks == shape.rank) continue;
      (i < step.dst_count ? cost.written : cost.read) += bytes;
    }
  }
}

}  // namespace

Cost cost_of(uint32_t ranks, const Geometry& geometry,
             const std::function<Schedule(uint32_t rank)>& emit) {
  Cost cost;
  Chains chains(ranks);
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    const Schedule schedule = emit(rank);
    const Plan plan = bind(schedule, geometry);
    RankCost& here = cost.ranks.emplace_back();
    here.steps = schedule.steps.size();
    add(plan.full, schedule.shape, geometry.element_bytes, plan.pieces - 1, here);
    add(plan.last, schedule.shape, geometry.element_bytes, 1, here);
    cost.pieces = std::max(cost.pieces, plan.pieces);
    cost.scratch_blocks = std::max(cost.scratch_blocks, schedule.scratch_blocks);
    chains.add(schedule);
  }
  cost.rounds = chains.longest();
  return cost;
}

}  // namespace weft::schedule
