// SPDX-License-Identifier: Apache-2.0
// The way of a call from its arguments to the stream: plan, task, buffers, submit.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <string_view>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/op_names.hpp"
#include "comm/communicator.hpp"
#include "schedule/builder.hpp"

namespace weft::comm {
namespace {

/// FNV-1a, folded to the 32 bits that a signal carries.
class Hash {
 public:
  Hash& add(const void* data, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
      state_ = (state_ ^ static_cast<const uint8_t*>(data)[i]) * 0x100000001b3;
    }
    return *this;
  }
  [[nodiscard]] uint32_t value() const { return static_cast<uint32_t>(state_ ^ state_ >> 32); }

 private:
  uint64_t state_ = 0xcbf29ce484222325;
};

/// The schedule of a single rank: its output is its input.
schedule::Schedule alone(const CallKey& key) {
  schedule::Schedule schedule;
  schedule.shape = {key.op, 1, 0, 0};
  if (key.op == WEFT_OP_BARRIER || key.op == WEFT_OP_BROADCAST) return schedule;
  schedule.operands = {{WEFT_SPACE_OUT, 0, 0, 0, 1}, {WEFT_SPACE_IN, 0, 0, 0, 1}};
  schedule.steps = {{WEFT_VERB_COPY, 0, 0, 1, 1}};
  return schedule;
}

/// The whole output is the whole input.
bool one_buffer(const Call& call) {
  return call.in == call.out &&
         (call.key.op == WEFT_OP_ALL_REDUCE || call.key.op == WEFT_OP_BROADCAST);
}

/// In and Out share memory in another way than the forms of in-place that schedules know.
bool overlaps_badly(const Call& call, const schedule::Plan& plan, uint32_t rank) {
  const auto in = reinterpret_cast<uint64_t>(call.in);
  const auto out = reinterpret_cast<uint64_t>(call.out);
  if (in >= out + plan.out_bytes || out >= in + plan.in_bytes || one_buffer(call)) return false;
  const uint64_t own_slot = rank * plan.block_bytes;
  return !(call.key.op == WEFT_OP_REDUCE_SCATTER && out == in + own_slot) &&
         !(call.key.op == WEFT_OP_ALL_GATHER && in == out + own_slot);
}

}  // namespace

exec::ExecPlan* Communicator::make_plan(const CallKey& key) {
  auto made = std::make_unique<exec::ExecPlan>();
  made->key = key;
  const auto element = static_cast<uint32_t>(std::max<size_t>(1, type_size(key.type)));
  const schedule::Geometry geometry{key.count, element, options_.scratch_bytes};
  Hash hash;
  hash.add(&key, sizeof key);
  if (ranks_ == 1) {
    made->plan = schedule::bind(alone(key), geometry);
    made->algorithm = "copy";
    made->source = "single rank";
  } else {
    const uint64_t blocks =
        std::max(schedule::in_blocks(key.op, ranks_), schedule::out_blocks(key.op, ranks_));
    config::Query query;
    query.op = key.op;
    query.bytes = key.count * element * blocks;
    query.ranks = ranks_;
    query.type = key.type;
    query.reduce_op = is_reduction(key.op) ? key.reduce_op : -1;
    query.deterministic = options_.deterministic;
    query.wish = options_.algo.level0(operation_name(key.op));
    const config::Choice choice = policy_->choose(query);
    const plugin::Algorithm& algorithm = *choice.algorithm;
    if (is_reduction(key.op) && transport_.table->reduces(key.type, key.reduce_op) == 0) {
      throw Error(HCCL_E_NOT_SUPPORT, fmt::format("transport '{}' cannot reduce {} with {}",
                                                  policy_->settings().transport,
                                                  type_name(key.type), op_name(key.reduce_op)));
    }
    const schedule::Shape shape{key.op, ranks_, rank_, key.root};
    made->plan = schedule::bind(
        schedule::emit(algorithm.table, algorithm.name.c_str(), shape, choice.params), geometry);
    made->algorithm = algorithm.name;
    made->source = choice.source;
    hash.add(algorithm.name.data(), algorithm.name.size());
    hash.add(choice.params.data(), choice.params.size() * sizeof(int64_t));
  }
  made->fingerprint = hash.value();
  return plans_.insert(std::move(made), executor_->done());
}

exec::Task& Communicator::next_task() {
  exec::Task& task = tasks_[next_task_ % kTasks];
  if (task.last_call <= executor_->done()) return task;
  // So many calls are on their way that the oldest must end first. Streams make progress by
  // themselves.
  const auto start = std::chrono::steady_clock::now();
  while (task.last_call > executor_->done()) {
    check_health();
    if (options_.exec_timeout.count() > 0 &&
        std::chrono::steady_clock::now() - start > options_.exec_timeout) {
      throw Error(HCCL_E_TIMEOUT,
                  fmt::format("{} calls are queued on this communicator and none ends", kTasks));
    }
    sched_yield();
  }
  return task;
}

void Communicator::check_health() const {
  if (const int32_t code = executor_->health(); code != HCCL_SUCCESS) {
    throw Error(static_cast<HcclResult>(code),
                fmt::format("communicator {} has failed: {}", name(), executor_->health_text()));
  }
}

/// Decides how each buffer travels: as it is where all peers can see it and In and Out do not
/// overlap in a way that the schedule does not know, else through staging memory. Peers never need
/// to know: the signal carries the place.
LastCall Communicator::place_buffers(const Call& call, exec::Task& task) {
  const schedule::Plan& plan = task.plan->plan;
  task.in = call.in;
  task.out = call.out;
  task.before.bytes = 0;
  task.after.bytes = 0;
  bool stage_in = ranks_ > 1 && plan.in_bytes != 0 && !visible(call.in, plan.in_bytes);
  bool stage_out = ranks_ > 1 && plan.out_bytes != 0 && !visible(call.out, plan.out_bytes);
  if (ranks_ > 1 && overlaps_badly(call, plan, rank_)) {
    // The smaller of the two buffers moves out of the way.
    (call.key.op == WEFT_OP_REDUCE_SCATTER ? stage_out : stage_in) = true;
  }
  if (stage_in) {
    void* in = staging_->in(plan.in_bytes, next_call_, executor_->done());
    task.before = {in, call.in, plan.in_bytes};
    task.in = in;
  }
  if (stage_out) {
    task.out = stage_in && one_buffer(call)
                   ? task.before.to
                   : staging_->out(plan.out_bytes, next_call_, executor_->done());
    task.after = {call.out, task.out, plan.out_bytes};
  }
  return {task.plan, stage_in, stage_out};
}

void Communicator::issue(const Call& call, void* stream) {
  check_health();
  exec::ExecPlan* plan = plans_.find(call.key);
  if (plan == nullptr) plan = make_plan(call.key);
  exec::Task& task = next_task();
  task.base = {&exec::Executor::run, &exec::Executor::drop};
  task.executor = executor_.get();
  task.plan = plan;
  const LastCall placed = place_buffers(call, task);
  task.first_call = next_call_;
  task.last_call = next_call_ + plan->plan.pieces - 1;
  task.begun = false;
  task.piece = 0;
  task.step = 0;
  task.rounds = 0;
  task.waiting_since = {};
  // Counted before it can end.
  next_task_.store(next_task_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  const uint64_t last_call_before = plan->last_call;
  plan->last_call = task.last_call;
  const int32_t code = transport_.table->submit(endpoint_, stream, &task.base);
  if (code != HCCL_SUCCESS) {
    plan->last_call = last_call_before;
    task.last_call = 0;
    next_task_.store(next_task_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
    throw Error(static_cast<HcclResult>(code),
                fmt::format("the call cannot be put on the stream: {}", plugin::take_failure()));
  }
  next_call_ = task.last_call + 1;
  last_ = placed;
}

}  // namespace weft::comm
