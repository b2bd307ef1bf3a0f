// SPDX-License-Identifier: Apache-2.0
// The way of a call onto the stream in the tasks engine: nothing of it is queued until all that can
// be wrong with it has been looked at.
#include "comm/communicator.hpp"

namespace weft::comm {

void Communicator::issue_tasks(const Call& call, const exec::ExecPlan& plan, void* stream) {
  if (options_.entry_log) log_entry(call, stream);
  exec::Task& task = tasks_[kTasks];  // never runs: a place for the lengths
  task.plan = const_cast<exec::ExecPlan*>(&plan);
  const Extent extent = set_lengths(call, task);
  if (memory_check_ != nullptr) check_memory(call, extent, task);
  exec::TaskCall given;
  given.plan = &plan;
  given.in = call.in;
  given.out = call.out;
  given.in_side = tasks_engine_->locate(call.in, extent.in);
  given.out_side = tasks_engine_->locate(call.out, extent.out);
  given.blocks = task.blocks;
  given.fingerprint = task.fingerprint;
  const uint64_t pieces = exec::pieces_of(given, ranks_);
  if (pieces > 1 && overlaps_badly(call, task, extent)) {
    given.aside = static_cast<std::byte*>(tasks_engine_->room_aside(extent.in));
    given.in_bytes = extent.in;
  }
  tasks_engine_->issue(given, call.key, stream);
  const auto buffer = [](const void* address, uint64_t bytes) {
    return Buffer{address, bytes, bytes == 0 ? Way::kNone : Way::kStaged};
  };
  remember({plan.algorithm, plan.source, static_cast<uint32_t>(pieces), buffer(call.in, extent.in),
            buffer(call.out, extent.out), true},
           call.key);
}

}  // namespace weft::comm
