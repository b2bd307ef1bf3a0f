// SPDX-License-Identifier: Apache-2.0
// The way of a call onto the stream in the tasks engine: nothing of it is queued until all that can
// be wrong with it has been looked at.
#include "comm/communicator.hpp"

namespace weft::comm {

void Communicator::issue_tasks(const Call& call, const exec::ExecPlan& plan, void* stream) {
  exec::Task& task = tasks_[0];  // never runs: a place for the lengths
  task.plan = const_cast<exec::ExecPlan*>(&plan);
  const Extent extent = set_lengths(call, task);
  if (memory_check_ != nullptr) check_memory(call, extent, task);
  exec::TaskCall given;
  given.plan = &plan;
  given.in = call.in;
  given.out = call.out;
  given.in_place = tasks_engine_->locate(call.in, extent.in);
  given.out_place = tasks_engine_->locate(call.out, extent.out);
  given.blocks = task.blocks;
  const uint64_t pieces = exec::pieces_of(given, ranks_);
  if (pieces > 1 && overlaps_badly(call, task, extent)) {
    const uint64_t done = tasks_engine_->busy() ? 0 : next_call_ - 1;
    given.aside = static_cast<std::byte*>(staging_->in(extent.in, next_call_, done));
    given.in_bytes = extent.in;
  }
  tasks_engine_->issue(given, call.key, stream);
  ++next_call_;
  const auto buffer = [](const void* address, uint64_t bytes) {
    return Buffer{address, bytes, bytes == 0 ? Way::kNone : Way::kStaged};
  };
  remember({plan.algorithm, plan.source, static_cast<uint32_t>(pieces), buffer(call.in, extent.in),
            buffer(call.out, extent.out)},
           call.key);
}

}  // namespace weft::comm
