// SPDX-License-Identifier: Apache-2.0
// The way of a call from its arguments to the stream: plan, task, buffers, submit.
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/op_names.hpp"
#include "comm/communicator.hpp"
#include "schedule/builder.hpp"

namespace weft::comm {
namespace {

// What a rank does of such a call before it first waits takes no longer than a worker of the stream
// needs to come for it, some 50 us.
constexpr uint64_t kBriefBytes = 1 << 20;

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
  if (key.op == WEFT_OP_BARRIER || key.op == WEFT_OP_BROADCAST) return schedule;  // in is out
  schedule.operands = {{WEFT_SPACE_OUT, 0, 0, 0, 1}, {WEFT_SPACE_IN, 0, 0, 0, 1}};
  schedule.steps = {{WEFT_VERB_COPY, 0, 0, 1, 1}};
  return schedule;
}

/// Whether this rank signals every other one in each of its pieces.
bool tells_all(const schedule::Plan& plan, uint32_t ranks) {
  std::vector<bool> told(ranks, false);
  for (const schedule::PlanStep& step : plan.last.steps) {
    const bool signals =
        step.opcode == schedule::Opcode::kSignal || step.opcode == schedule::Opcode::kSignalCarry;
    if (signals) told[step.peer] = true;
  }
  return std::count(told.begin(), told.end(), true) == static_cast<std::ptrdiff_t>(ranks) - 1;
}

/// Writes one side of a call's lengths, in bytes. Returns where its last block ends.
uint64_t write_side(const uint64_t* counts, const uint64_t* displacements, uint64_t element,
                    std::span<uint64_t> offsets, std::span<uint64_t> lengths) {
  uint64_t end = 0;
  for (size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] = counts == nullptr ? 0 : displacements[i] * element;
    lengths[i] = counts == nullptr ? 0 : counts[i] * element;
    if (lengths[i] > 0) end = std::max(end, offsets[i] + lengths[i]);
  }
  return end;
}

}  // namespace

/// What a plan depends on. Where blocks have lengths of their own it serves all calls of a type,
/// unless the policy looks at their bytes.
CallKey Communicator::plan_key(CallKey key) const {
  if (has_lengths(key.op) && !policy_->looks_at_bytes(key.op)) key.count = 0;
  return key;
}

bool Communicator::choose_engine(const CallKey& key, std::string& note) const {
  const bool reduction = is_reduction(key.op) && ranks_ > 1;
  if (tasks_engine_ != nullptr) {
    if (!reduction || tasks_engine_->reduces(key)) return true;
    if (board_ == nullptr) {
      throw Error(HCCL_E_NOT_SUPPORT,
                  fmt::format("{} cannot run as stream tasks: inline reduce combines int8, int16, "
                              "int32, fp16, bfp16 and fp32 with sum, max and min only, and "
                              "transport '{}' has no direct engine here; convert the data",
                              describe(key), policy_->settings().transport));
    }
    note = fmt::format(", by the direct engine since inline reduce has no {} of {}",
                       op_name(key.reduce_op), type_name(key.type));
  }
  if (reduction && transport_.table->reduces(key.type, key.reduce_op) == 0) {
    throw Error(HCCL_E_NOT_SUPPORT, fmt::format("transport '{}' cannot reduce {} with {}",
                                                policy_->settings().transport, type_name(key.type),
                                                op_name(key.reduce_op)));
  }
  return false;
}

config::Query Communicator::query_of(const CallKey& key) const {
  const uint64_t blocks = has_lengths(key.op) ? 1
                                              : std::max(schedule::in_blocks(key.op, ranks_),
                                                         schedule::out_blocks(key.op, ranks_));
  config::Query query;
  query.op = key.op;
  query.bytes = key.count * std::max<size_t>(1, type_size(key.type)) * blocks;
  query.ranks = ranks_;
  query.type = key.type;
  query.reduce_op = is_reduction(key.op) ? key.reduce_op : -1;
  query.deterministic = deterministic_of_plans_ != 0;
  query.wish = options_.algo.level0(operation_name(key.op));
  query.hosts = hosts_;
  query.ranks_per_host = ranks_per_host_;
  query.communicator = name();
  return query;
}

config::Choice Communicator::choose(const CallKey& key) {
  if (key.arm == 0) return policy_->choose(query_of(key));
  const config::Experiment& experiment = experiments_->find(without_arm(key))->experiment();
  const config::Rule& arm = experiment.arms[key.arm - 1].rule;
  return {.algorithm = arm.algorithm,
          .params = arm.values,
          .source = fmt::format("{}:{} (experiment {})", policy_->name(), arm.place.line,
                                experiment.name),
          .experiment = &experiment};
}

std::string Communicator::doubt(const config::Rule& arm, const CallKey& key) {
  return doubts_.about(arm, {key.op, ranks_, rank_, key.root}, geometry_of(key));
}

schedule::Geometry Communicator::geometry_of(const CallKey& key) const noexcept {
  schedule::Geometry geometry;
  geometry.count = key.count;
  geometry.element_bytes = static_cast<uint32_t>(std::max<size_t>(1, type_size(key.type)));
  geometry.scratch_bytes = scratch_bytes();
  return geometry;
}

exec::ExecPlan* Communicator::make_plan(const CallKey& key) {
  auto made = std::make_unique<exec::ExecPlan>();
  made->key = key;
  schedule::Geometry geometry = geometry_of(key);
  std::string note;
  made->as_tasks = choose_engine(key, note);
  if (made->as_tasks) tasks_engine_->shape(geometry);
  Hash hash;
  hash.add(&key, sizeof key);
  const auto bind = has_lengths(key.op) ? schedule::bind_blocks : schedule::bind;
  if (ranks_ == 1) {
    made->plan = bind(alone(key), geometry);
    made->partners = {false};
    made->algorithm = "copy";
    made->source = "single rank";
  } else {
    const config::Choice choice = choose(key);
    if (policy_use_ != nullptr) policy_use_->note(choice);
    const plugin::Algorithm& algorithm = *choice.algorithm;
    const schedule::Shape shape{key.op, ranks_, rank_, key.root};
    made->plan = bind(schedules_.get(algorithm, shape, choice.params), geometry);
    if (made->as_tasks) {
      made->partners = tasks_engine_->partners(algorithm, shape, choice.params);
    }
    made->algorithm = algorithm.name;
    made->source = choice.source + note;
    hash.add(algorithm.name.data(), algorithm.name.size());
    hash.add(choice.params.data(), choice.params.size() * sizeof(int64_t));
  }
  made->fingerprint = hash.value();
  made->synchronises = depends_on_all(key.op);
  made->tells_all = tells_all(made->plan, ranks_);
  made->serial = plans_.made() + 1;
  if (options_.debug.algorithms) log_choice(*made);
  last_ = {};  // its texts may be those of the plan that makes room
  repeated_ = nullptr;
  return plans_.insert(std::move(made), executor_->done());
}

/// When no task is on its way, which is next is free: best one that is prepared for the call, which
/// the next, first and last ones are if a program repeats one call or a few of them. Else one of
/// the first, which are in the nearest cache.
uint64_t Communicator::choose_task(const exec::Prepared& wanted) const {
  constexpr uint64_t kFew = 64;
  const uint64_t last = (next_task_ - 1) % kTasks;
  for (const uint64_t each : {next_task_ % kTasks, uint64_t{0}, last}) {
    if (tasks_[each].prepared == wanted) return each;
  }
  return next_task_ < kFew ? next_task_ : 0;
}

/// A free one.
exec::Task& Communicator::next_task(const exec::Prepared& wanted) {
  if (next_task_ != 0 && tasks_[(next_task_ - 1) % kTasks].last_call <= executor_->done()) {
    next_task_ = choose_task(wanted);
  }
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

/// Where another level asks for other algorithms, plans are made anew.
void Communicator::follow_deterministic() {
  const uint32_t level = deterministic();
  const bool changed = (level != 0) != (deterministic_of_plans_ != 0);
  deterministic_of_plans_ = level;
  if (!changed) return;
  plans_.forget(executor_->done());
  if (experiments_ != nullptr) experiments_->set_deterministic(level != 0);
  last_ = {};  // its texts are those of a plan
  repeated_ = nullptr;
}

void Communicator::check_health() const {
  const int32_t code = watch_->readiness();
  if (code == HCCL_SUCCESS) return;
  throw Error(static_cast<HcclResult>(code),
              code == HCCL_E_SUSPENDING
                  ? fmt::format("communicator {} is suspended; call HcclCommResume first", name())
                  : fmt::format("communicator {} has failed: {}", name(), watch_->reason()));
}

void Communicator::require_recovered() const {
  const int32_t code = health();
  if (code == HCCL_SUCCESS) return;
  throw Error(
      static_cast<HcclResult>(code),
      fmt::format("communicator {} has failed and cannot go on; destroy it and make another "
                  "one: {}",
                  name(), watch_->reason()));
}

/// Turns the caller's counts and displacements into bytes; the room for them is allocated with the
/// first call of this task that needs any.
Communicator::Extent Communicator::set_lengths(const Call& call, exec::Task& task) {
  const schedule::Plan& plan = task.plan->plan;
  task.pieces = plan.pieces;
  task.fingerprint = task.plan->fingerprint;
  if (!plan.has_lengths) return {plan.in_bytes, plan.out_bytes};
  std::unique_ptr<uint64_t[]>& room = lengths_[static_cast<size_t>(&task - tasks_.get())];
  if (room == nullptr) room = std::make_unique<uint64_t[]>(size_t{4} * ranks_);
  const std::span<uint64_t> offsets(room.get(), size_t{2} * ranks_);
  const std::span<uint64_t> lengths(room.get() + offsets.size(), offsets.size());
  const Lengths& given = call.lengths;
  const uint64_t element = plan.element_bytes;
  Extent extent;
  extent.in = write_side(given.in_counts, given.in_displacements, element, offsets.first(ranks_),
                         lengths.first(ranks_));
  extent.out = write_side(given.out_counts, given.out_displacements, element, offsets.last(ranks_),
                          lengths.last(ranks_));
  if (given.in_counts == nullptr) extent.in = lengths[ranks_ + rank_];
  if (given.out_counts == nullptr) extent.out = lengths[rank_];
  task.blocks = {offsets.data(), lengths.data()};
  task.fingerprint ^= static_cast<uint32_t>(given.digest ^ given.digest >> 32);
  if (plan.uses_scratch) {
    const uint64_t longest = *std::max_element(lengths.begin(), lengths.end());
    const uint64_t pieces = (longest + plan.piece_bytes - 1) / plan.piece_bytes;
    if (pieces > UINT32_MAX) {
      throw Error(HCCL_E_MEMORY, "the HCCL buffer is too small for a call of this size");
    }
    task.pieces = std::max<uint32_t>(1, static_cast<uint32_t>(pieces));
  }
  return extent;
}

/// Fills in what a task is about, but for its number.
LastCall Communicator::prepare(const Call& call, exec::ExecPlan& plan, exec::Task& task) {
  task.base = {&exec::Executor::run, &exec::Executor::drop, nullptr, executor_.get(), 0, 0};
  task.executor = executor_.get();
  task.plan = &plan;
  task.key = call.key;
  const Extent extent = set_lengths(call, task);
  if (memory_check_ != nullptr) check_memory(call, extent, task);
  // At most, a rank sends its whole input to each of the others before it waits.
  if ((extent.in + extent.out) * ranks_ <= kBriefBytes) task.base.flags = WEFT_TASK_BRIEF;
  const LastCall placed = place_buffers(call, extent, task);
  const auto once = [](Way way) { return way == Way::kNone || way == Way::kHeap; };
  task.own_heap = task.pieces == 1 && once(placed.in.way) && once(placed.out.way);
  return placed;
}

/// What it was prepared for is no longer in it, nor what last_call() would tell of it.
void Communicator::forget(exec::Task& task) noexcept {
  if (repeated_ == &task) {
    last_ = last_call();
    repeated_ = nullptr;
  }
  task.prepared = {};
}

/// Whether it may begin while those before it are on their way: it is brief and touches nothing of
/// theirs, and all peers learn that it was early. Its input is read when it is launched then, which
/// a program sees that writes the input later, in an order that it has from another rank only.
/// With windows or ranges memory may have a second
/// address, and a program may look at what a peer's earlier call has left.
bool Communicator::is_independent(const exec::Task& task) const {
  if (!options_.early_calls) return false;
  if ((task.base.flags & WEFT_TASK_BRIEF) == 0 || !task.own_heap) return false;
  if (!task.plan->tells_all || ranks_ > exec::Executor::kMostEarlyRanks) return false;
  if (task.key.op == WEFT_OP_BARRIER || setup_.map->own_version() != 0) return false;
  const uint64_t done = executor_->done();
  if (next_call_ - done > exec::kMostDepth) return false;
  for (uint64_t i = next_task_; i-- > 0;) {
    const exec::Task& other = tasks_[i % kTasks];
    if (other.last_call <= done) break;
    if (!other.own_heap) return false;  // what it uses may have a second address
    if (task.used_out.overlaps(other.used_out) || task.used_out.overlaps(other.used_in) ||
        task.used_in.overlaps(other.used_out)) {
      return false;
    }
  }
  return true;
}

void Communicator::submit(exec::Task& task, Trial* trial, void* stream) {
  exec::ExecPlan& plan = *task.plan;
  // What a call does before its turn is in the time of the one before it.
  const bool early = (trial == nullptr || !trial->block_begins()) && is_independent(task);
  task.base.begin = early ? &exec::Executor::begin_early : nullptr;
  task.times = trial;
  if (trial != nullptr) task.issued_at = std::chrono::steady_clock::now();
  task.first_call = next_call_;
  task.last_call = next_call_ + task.pieces - 1;
  task.used_until.store(task.last_call, std::memory_order_release);
  task.at_launch.store(true, std::memory_order_relaxed);
  task.begun = false;
  task.early = false;
  task.ended = false;
  task.early_peers = 0;
  task.piece = 0;
  task.step = 0;
  task.wait = {};
  task.stalled_at = 0;
  const uint64_t last_call_before = plan.last_call;
  plan.last_call = task.last_call;
  const int32_t code = transport_.table->submit(endpoint_, stream, &task.base);
  task.at_launch.store(false, std::memory_order_relaxed);
  if (code != HCCL_SUCCESS) {
    plan.last_call = last_call_before;
    task.last_call = 0;
    task.used_until.store(0, std::memory_order_relaxed);
    forget(task);
    throw Error(static_cast<HcclResult>(code),
                fmt::format("the call cannot be put on the stream: {}", plugin::take_failure()));
  }
  if (trial != nullptr) experiments_->advance(*trial);
  ++next_task_;
  next_call_ = task.last_call + 1;
}

void Communicator::issue(const Call& call, void* stream) {
  check_health();
  if (deterministic() != deterministic_of_plans_) follow_deterministic();
  CallKey wanted = plan_key(call.key);
  Trial* const trial = experiments_ == nullptr ? nullptr : experiments_->find(wanted);
  if (trial != nullptr) wanted.arm = static_cast<uint8_t>(trial->arm() + 1);
  exec::ExecPlan* plan = plans_.find(wanted);
  if (plan == nullptr) plan = make_plan(wanted);
  if (plan->as_tasks) return issue_tasks(call, *plan, stream);
  const exec::Prepared now{plan->serial, call.in, call.out, setup_.map->own_version()};
  exec::Task& task = next_task(now);
  if (now == task.prepared) {
    submit(task, trial, stream);
    ++calls_by_way_[std::max(task.in_way, task.out_way)];
    repeated_ = &task;
    return;
  }
  forget(task);  // from here on it is about another call, even if that comes to nothing
  if (options_.entry_log) log_entry(call, stream);
  const LastCall placed = prepare(call, *plan, task);
  submit(task, trial, stream);
  remember(placed, call.key);
  const bool staged = task.before.bytes != 0 || task.after.bytes != 0;
  if (plan->plan.has_lengths || staged || memory_check_ != nullptr || traces_) return;
  task.prepared = now;
  task.in_way = static_cast<uint8_t>(placed.in.way);
  task.out_way = static_cast<uint8_t>(placed.out.way);
}

}  // namespace weft::comm
