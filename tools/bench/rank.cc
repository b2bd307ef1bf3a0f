// SPDX-License-Identifier: Apache-2.0
#include "bench/rank.hpp"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "acl/acl.h"
#include "bench/member.hpp"
#include "bench/pace.hpp"
#include "bench/pattern.hpp"
#include "hccl/hccl.h"

namespace weft::tools {
namespace {

constexpr Seconds kWarmUp{2e-3};
constexpr uint64_t kFewestBatches = 5;

double median(const std::vector<double>& sorted) {
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// The calling thread and those it makes from now on.
void bind_to_core(Team& team, uint32_t rank) {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) team.fail(rank, "cannot tell its cores");
  uint32_t skip = rank % uint32_t(CPU_COUNT(&usable));
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &usable) || skip-- > 0) continue;
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    if (sched_setaffinity(0, sizeof own, &own) != 0) team.fail(rank, "cannot bind to a core");
    return;
  }
}

}  // namespace

HcclComm Member::new_communicator() {
  HcclComm made = nullptr;
  if (rank_ == 0) need("HcclGetRootInfo", HcclGetRootInfo(&team_.root_info()));
  team_.barrier();
  need("HcclCommInitRootInfo", HcclCommInitRootInfo(spec_.ranks, &team_.root_info(), rank_, &made));
  return made;
}

void Member::join() {
  need("aclrtSetDevice", aclrtSetDevice(device_));
  need("aclrtCreateStream", aclrtCreateStream(&stream_));
  if (spec_.arms.empty()) {
    comm_ = new_communicator();
  } else {
    join_arms();
  }
  make_patterns();
  make_buffers();
  if (spec_.overlap) work_.emplace();
}

void Member::make_patterns() {
  patterns_.emplace(kUntouched, pattern_of(spec_, kUntouched));
  patterns_.emplace(rank_, pattern_of(spec_, rank_));
  // The sources are the same for all sizes.
  for (const Expected& part : make_layout(spec_, shapes(spec_).back(), rank_).expected) {
    if (patterns_.count(part.source) == 0) {
      patterns_.emplace(part.source, pattern_of(spec_, part.source));
    }
  }
}

void Member::make_buffers() {
  const Fail failed = [this](const char* function, int code) {
    complain(team_, rank_, function, code);
  };
  const bool one = spec_.in_place || spec_.op == Op::kBroadcast;
  const size_t size = element_size(spec_);
  uint64_t send = 0;
  uint64_t receive = 0;
  for (const Shape& shape : shapes(spec_)) {  // an uneven block of a larger size may be smaller
    const Layout layout = make_layout(spec_, shape, rank_);
    send = std::max(send, layout.send_elements);
    receive = std::max(receive, slots(layout) * stride(layout) / size);
  }
  // Windows are alike on all ranks.
  const auto bytes = [&](uint64_t elements) {
    return size_t(team_.largest(rank_, double(elements))) * size;
  };
  first_.emplace(spec_.memory, bytes(one ? std::max(send, receive) : send), comm_, failed);
  if (!one) second_.emplace(spec_.memory, bytes(receive), comm_, failed);
  send_ = &*first_;
  receive_ = one ? &*first_ : &*second_;
  if (spec_.limit) {
    limit_.emplace(spec_, team_, rank_, send_->data(), receive_->data(),
                   bytes(std::max(send, receive)), failed);
  }
}

/// From one output of queued calls to the next.
size_t Member::stride(const Layout& layout) const {
  return (layout.receive_elements * element_size(spec_) + 63) / 64 * 64;
}

/// Outputs that queued calls take in turn, as those of a program do that queues several. Together
/// they have at most 64 MiB; a root broadcasts the same data each time, and so does who works in
/// place.
uint64_t Member::slots(const Layout& layout) const {
  constexpr uint64_t kMost = uint64_t{64} << 20;
  const bool same = spec_.in_place || (spec_.op == Op::kBroadcast && rank_ == spec_.root);
  if (same || layout.receive_elements == 0) return 1;
  return std::clamp<uint64_t>(kMost / stride(layout), 1, spec_.queue);
}

// In place, the smaller buffer is the rank's own block of the larger one.
void Member::place(const Shape& shape) {
  layout_ = make_layout(spec_, shape, rank_);
  stride_ = stride(layout_);
  slots_ = slots(layout_);
  if (!spec_.in_place) return;
  const size_t own = rank_ * shape.count * element_size(spec_);
  if (spec_.op == Op::kAllGather) send_at_ = own;
  if (spec_.op == Op::kReduceScatter) receive_at_ = own;
}

void Member::prepare() {
  // The input comes second: in place it covers some of the output.
  for (uint64_t slot = 0; slot < slots_; ++slot) {
    receive_->put(patterns_.at(kUntouched), 0, receive_at_ + slot * stride_,
                  layout_.receive_elements);
  }
  if (spec_.op == Op::kBroadcast && rank_ != spec_.root) return;
  send_->put(patterns_.at(rank_), 0, send_at_, layout_.send_elements);
}

/// In the outputs of the last calls, as many as `slots`.
uint64_t Member::wrong(uint64_t slots) {
  uint64_t wrong = 0;
  for (uint64_t slot = 0; slot < slots; ++slot) {
    const size_t base = receive_at_ + slot * stride_;
    for (const Expected& part : layout_.expected) {
      wrong += receive_->mismatches(patterns_.at(part.source), part.first,
                                    base + part.at * element_size(spec_), part.count);
    }
  }
  return wrong;
}

// Barriers that some rank left before another had entered.
uint64_t Member::wrong_barriers(const Call& call) {
  constexpr int kRounds = 16;
  uint64_t wrong = 0;
  for (int i = 0; i < kRounds; ++i) {
    const uint64_t round = team_.entered(rank_).fetch_add(1) + 1;
    carry_out(call);
    for (uint32_t peer = 0; peer < spec_.ranks; ++peer) {
      wrong += team_.entered(peer).load() < round ? 1 : 0;
    }
  }
  return wrong;
}

uint64_t Member::checked_call(const Call& call) {
  if (spec_.op == Op::kBarrier) return wrong_barriers(call);
  prepare();
  carry_out(call);
  return wrong();
}

/// Puts calls on the stream, computes, and waits for them.
void Member::carry_out(const Call& call, uint64_t calls, const Work* work) {
  Call each = call;
  for (uint64_t i = 0; i < calls; ++i) {
    if (slots_ > 1) each.receive = static_cast<std::byte*>(call.receive) + i % slots_ * stride_;
    const Issued issued = issue(each);
    if (issued.result != HCCL_SUCCESS) complain(team_, rank_, issued.function, issued.result);
  }
  if (work != nullptr) work->run();
  const aclError error = aclrtSynchronizeStream(stream_);
  if (error != ACL_SUCCESS) complain(team_, rank_, "aclrtSynchronizeStream", error);
}

template <class Body>
Seconds Member::time_units(uint64_t units, const Body& body) {
  team_.barrier();
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < units; ++i) body();
  return std::chrono::steady_clock::now() - start;
}

Seconds Member::time_units(const Call& call, uint64_t units) {
  return time_units(units, [&] { carry_out(call, spec_.queue); });
}

/// Calls until a unit's time is known well enough: the same on all ranks.
Seconds Member::warm_up(const Call& call) {
  carry_out(call);
  uint64_t units = 1;
  double took = team_.largest(rank_, time_units(call, units).count());
  while (took < kWarmUp.count()) {
    units *= 4;
    took = team_.largest(rank_, time_units(call, units).count());
  }
  return Seconds(took / double(units));
}

// The host is to compute for as long as a unit takes.
Member::Plan Member::plan(const Call& call) {
  const double each = warm_up(call).count();
  Plan plan{};
  plan.units = std::max<uint64_t>(1, uint64_t(std::ceil(kShortestBlock / each)));
  if (work_) work_->set(Seconds(each));
  if (spec_.iterations == 0) {
    const double wanted = std::ceil(Seconds(spec_.min_time).count() / each);
    plan.units = std::max(plan.units, uint64_t(wanted) / Team::kMostBatches);
    const double batches = wanted / double(plan.units);
    plan.batches =
        uint64_t(std::clamp(batches, double(kFewestBatches), double(Team::kMostBatches)));
    return plan;
  }
  const uint64_t all = (spec_.iterations + spec_.queue - 1) / spec_.queue;
  plan.units =
      std::max(std::min(plan.units, all), (all + Team::kMostBatches - 1) / Team::kMostBatches);
  plan.batches = (all + plan.units - 1) / plan.units;
  return plan;
}

Call Member::call(const Shape& shape) const {
  // No arithmetic on a buffer that is not there.
  const auto address = [](const Buffer& buffer, size_t at) {
    return buffer.data() == nullptr ? nullptr : buffer.data() + at;
  };
  return {spec_, shape,  layout_, rank_, address(*send_, send_at_), address(*receive_, receive_at_),
          comm_, stream_};
}

uint64_t Member::checked_limit(const Shape& shape) {
  limit_->begin(shape, send_at_, receive_at_);
  if (spec_.check) prepare();
  team_.barrier();
  limit_->call();
  team_.barrier();
  return spec_.check ? wrong() : 0;
}

void Member::explain(const Shape& shape) {
  place(shape);
  const uint64_t bad = checked_call(call(shape));
  team_.tell(rank_, describe(shape, bad));
  team_.barrier();
}

void Member::time_overlap(const Call& call, uint64_t units, uint64_t batch) {
  const auto both = [&] { carry_out(call, spec_.queue, &*work_); };
  team_.work_time(rank_, batch) = time_units(units, [&] { work_->run(); }).count();
  both();  // as in a program that does so each time: the runtime learns from it
  team_.both_time(rank_, batch) = time_units(units, both).count();
}

void Member::measure(const Shape& shape) {
  place(shape);
  const Call call = this->call(shape);
  uint64_t bad = spec_.check ? checked_call(call) : 0;
  if (limit_) bad += checked_limit(shape);
  const Plan timed = plan(call);
  // In place, the timed calls consume their own results: their data means nothing.
  const bool keeps_input = !spec_.in_place && spec_.op != Op::kBarrier;
  if (spec_.check && keeps_input) prepare();
  for (uint64_t batch = 0; batch < timed.batches; ++batch) {
    team_.batch_time(rank_, batch) = time_units(call, timed.units).count();
    if (work_) time_overlap(call, timed.units, batch);
    if (!limit_) continue;
    const uint64_t calls = timed.units * spec_.queue;
    team_.limit_time(rank_, batch) = time_units(calls, [&] { limit_->call(); }).count();
  }
  if (spec_.check) bad += keeps_input ? wrong(slots_) : checked_call(call);
  const uint64_t all_bad = team_.sum(rank_, bad);
  if (rank_ == 0) team_.tell(rank_, row(shape, timed, all_bad));
  team_.barrier();  // rank 0 has read the times
}

/// Of each batch the time of the slowest rank, sorted.
template <class Time>
std::vector<double> Member::slowest(const Plan& timed, const Time& time) const {
  std::vector<double> times(timed.batches);
  for (uint64_t batch = 0; batch < timed.batches; ++batch) {
    for (uint32_t rank = 0; rank < spec_.ranks; ++rank) {
      times[batch] = std::max(times[batch], time(rank, batch));
    }
  }
  std::sort(times.begin(), times.end());
  return times;
}

Row Member::row(const Shape& shape, const Plan& timed, uint64_t wrong) {
  const uint64_t calls = timed.units * spec_.queue;
  const double scale = 1e6 / (double(calls) * trips(spec_));
  const std::vector<double> times =
      slowest(timed, [&](uint32_t rank, uint64_t batch) { return team_.batch_time(rank, batch); });
  Row row = describe(shape, wrong);
  row.calls = calls;
  row.batches = timed.batches;
  row.min_us = times.front() * scale;
  row.median_us = median(times) * scale;
  row.max_us = times.back() * scale;
  if (limit_) {
    row.limit_us = scale * median(slowest(timed, [&](uint32_t rank, uint64_t batch) {
                     return team_.limit_time(rank, batch);
                   }));
  }
  if (work_) {
    const auto of = [&](double& (Team::*time)(uint32_t, uint64_t)) {
      return median(slowest(
          timed, [&](uint32_t rank, uint64_t batch) { return (team_.*time)(rank, batch); }));
    };
    const double work = of(&Team::work_time);
    row.hidden = (median(times) + work - of(&Team::both_time)) / work;
  }
  return row;
}

Row Member::describe(const Shape& shape, uint64_t wrong) {
  Row row{};
  row.rank = rank_;
  row.shape = shape;
  row.call.head = WEFT_HEAD(weft_call_info);
  need("weft_comm_last_call", weft_comm_last_call(comm_, &row.call));
  row.counters.head = WEFT_HEAD(weft_comm_counters);
  need("weft_comm_get_counters", weft_comm_get_counters(comm_, &row.counters));
  row.wrong = wrong;
  return row;
}

void Member::leave() {
  team_.barrier();
  limit_.reset();
  first_.reset();
  second_.reset();
  team_.barrier();  // while all are there to give up windows and ranges
  if (comms_.empty()) comms_.push_back(comm_);
  for (HcclComm comm : comms_) need("HcclCommDestroy", HcclCommDestroy(comm));
  need("aclrtDestroyStream", aclrtDestroyStream(stream_));
  need("aclrtResetDevice", aclrtResetDevice(device_));
}

void run_rank(const Spec& spec, Team& team, uint32_t rank) {
  Member self(spec, team, rank);
  self.join();
  // Only now: who joins tells from the cores it may use whether ranks have to share them.
  if (spec.bind) bind_to_core(team, rank);
  std::vector<double> least;  // seconds, of the sizes that are left
  for (const Shape& shape : shapes(spec)) least.push_back(least_time(spec, shape));
  const Clock::time_point end = Clock::now() + spec.time;
  size_t done = 0;
  for (const Shape& shape : shapes(spec)) {
    const double left = spec.time.count() == 0 ? 0 : Seconds(end - Clock::now()).count();
    const double seconds = share(left, std::span(least).subspan(done++), 1);
    if (spec.race) {
      self.race(shape, seconds);
    } else if (!spec.arms.empty()) {
      self.compare(shape, spec.time.count() == 0 ? 0 : seconds);
    } else {
      spec.explain ? self.explain(shape) : self.measure(shape);
    }
  }
  self.leave();
}

void open_runtime(Team& team, uint32_t rank) { need(team, rank, "aclInit", aclInit(nullptr)); }

void close_runtime(Team& team, uint32_t rank) { need(team, rank, "aclFinalize", aclFinalize()); }

}  // namespace weft::tools
