// SPDX-License-Identifier: Apache-2.0
// How the buffers of a call get to the other ranks: by a window, a range, the device's memory, as
// they are, or through staging memory.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/communicator.hpp"
#include "comm/trace.hpp"

namespace weft::comm {
namespace {

uint64_t number(const void* address) { return reinterpret_cast<uint64_t>(address); }

/// The whole output is the whole input.
bool one_buffer(const Call& call) {
  return call.in == call.out && (call.key.op == WEFT_OP_ALL_REDUCE ||
                                 call.key.op == WEFT_OP_BROADCAST || call.key.op == WEFT_OP_REDUCE);
}

bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes) {
  return a_bytes != 0 && b_bytes != 0 && a < b + b_bytes && b < a + a_bytes;
}

}  // namespace

const char* way_name(Way way) noexcept {
  switch (way) {
    case Way::kWindow:
      return "window";
    case Way::kRange:
      return "range";
    case Way::kHeap:
      return "heap";
    case Way::kLocal:
      return "local";
    case Way::kOwn:
      return "own";
    case Way::kStaged:
      return "staged";
    default:
      return "none";
  }
}

void Communicator::attach_memories() {
  around_.rank = rank_;
  around_.ranks = ranks_;
  around_.device = device_;
  around_.window_bytes = options_.window_bytes;
  around_.timeout = options_.connect_timeout;
  around_.session = session_.get();
  around_.map = setup_.map.get();
  for (const control::Peer& peer : session_->peers()) around_.processes.push_back(peer.process);
  around_.done = [this] { return executor_->done(); };
  around_.own_in_use = [this](uint64_t address, uint64_t bytes) {
    return own_in_use(address, bytes);
  };
  around_.on_device = [this](const std::function<void()>& body) {
    const Scope scope(*this);
    body();
  };
  for (const OpenMemory& each : opened_) {
    if (each.plugin == nullptr) {
      order_.push_back(exec::kTransportSpace);
      continue;
    }
    const auto space = static_cast<uint32_t>(memories_.size() + 1);
    memories_.push_back(std::make_unique<MemoryGroup>(each, space, around_));
    order_.push_back(space);
  }
}

MemoryGroup& Communicator::memory(uint32_t family) const {
  for (const auto& each : memories_) {
    if (each->offers(family)) return *each;
  }
  throw Error(HCCL_E_NOT_SUPPORT,
              fmt::format("no memory plugin that the policy {} uses offers {}; see \"order\" in "
                          "[memory], and `weft plugins` for what there is",
                          policy_->name(),
                          family == WEFT_MEMORY_WINDOWS ? "symmetric windows" : "memory ranges"));
}

void Communicator::on_message(uint32_t from, std::span<const std::byte> bytes) noexcept {
  uint32_t space = 0;
  if (bytes.size() < sizeof space) return;
  std::memcpy(&space, bytes.data(), sizeof space);
  if (space == Registrations::kSpace) return registrations_->on_message(from);
  if (space == Invitations::kSpace) return invitations_->on_message(from, bytes);
  if (space > memories_.size()) return;
  memories_[space - 1]->on_message(from, bytes);
}

Communicator::Found Communicator::find_buffer(const void* address, uint64_t bytes) const noexcept {
  const uint64_t begin = number(address);
  for (const uint32_t space : order_) {
    if (space == exec::kTransportSpace) {
      if (in_heap(begin, bytes)) return {Way::kHeap, 0};
      continue;
    }
    Found found;
    if (!setup_.map->shows_any(space)) continue;
    if (!setup_.map->find_own(space, begin, bytes, &found.shift)) continue;
    found.way = memories_[space - 1]->offers(WEFT_MEMORY_WINDOWS) ? Way::kWindow : Way::kRange;
    return found;
  }
  return {info_.all_local != 0 ? Way::kLocal : Way::kStaged, 0};
}

const Communicator::Found& Communicator::find_buffer(Answer& last, const void* address,
                                                     uint64_t bytes) const noexcept {
  const uint64_t version = setup_.map->own_version();
  if (last.address != address || last.bytes != bytes || last.version != version) {
    last = {address, bytes, version, find_buffer(address, bytes)};
  }
  return last.found;
}

/// What other ranks see of a plan's buffers. Found out when the first call asks, since most never
/// do.
schedule::Exposure Communicator::exposure(exec::ExecPlan& plan) {
  // All ranks' schedules are asked for, and with many ranks that takes longer than a copy.
  constexpr uint32_t kMostRanks = 64;
  if (!plan.exposure_known && ranks_ <= kMostRanks) {
    const config::Choice choice = choose(plan.key);
    plan.exposure = schedules_.exposure(*choice.algorithm,
                                        {plan.key.op, ranks_, rank_, plan.key.root}, choice.params);
  }
  plan.exposure_known = true;
  return plan.exposure;
}

/// In and Out share memory in another way than the forms of in-place that schedules know.
bool Communicator::overlaps_badly(const Call& call, const exec::Task& task,
                                  const Extent& extent) const {
  const uint64_t in = number(call.in);
  const uint64_t out = number(call.out);
  if (one_buffer(call) || !overlap(in, extent.in, out, extent.out)) return false;
  const uint64_t slot = rank_ * task.plan->plan.block_bytes;
  switch (call.key.op) {
    case WEFT_OP_REDUCE_SCATTER:
    case WEFT_OP_SCATTER:
      return out != in + slot;
    case WEFT_OP_ALL_GATHER:
      return in != out + slot;
    case WEFT_OP_REDUCE_SCATTER_V:
      return out != in + task.blocks.offsets[rank_];
    case WEFT_OP_ALL_GATHER_V:
      return in != out + task.blocks.offsets[ranks_ + rank_];
    default:
      return true;
  }
}

/// Decides how each buffer travels: as it is where all peers can see it and In and Out do not
/// overlap in a way that the schedule does not know, else through staging memory. Peers never need
/// to know: the signal carries the place.
LastCall Communicator::place_buffers(const Call& call, const Extent& extent, exec::Task& task) {
  task.in = call.in;
  task.out = call.out;
  task.before.bytes = 0;
  task.after.bytes = 0;
  Found in;
  Found out;
  if (ranks_ > 1 && extent.in != 0) in = find_buffer(last_in_, call.in, extent.in);
  if (ranks_ > 1 && extent.out != 0) out = find_buffer(last_out_, call.out, extent.out);
  if (in.way == Way::kStaged || out.way == Way::kStaged) {
    schedule::Exposure seen = exposure(*task.plan);
    if (one_buffer(call)) seen.in = seen.out = seen.in || seen.out;
    if (in.way == Way::kStaged && !seen.in) in.way = Way::kOwn;
    if (out.way == Way::kStaged && !seen.out) out.way = Way::kOwn;
  }
  if (overlaps_badly(call, task, extent)) {
    // The smaller of the two buffers moves out of the way.
    (extent.out < extent.in ? out : in) = {Way::kStaged, 0};
  }
  task.in_shift = in.shift;
  task.out_shift = out.shift;
  const Lengths& lengths = call.lengths;
  const bool stage_in = in.way == Way::kStaged;
  if (stage_in) {
    void* copy = staging_->in(extent.in, next_call_, executor_->done());
    task.before = {copy, call.in, extent.in, lengths.in_counts == nullptr ? 0 : ranks_, 0};
    task.in = copy;
  }
  if (out.way == Way::kStaged) {
    task.out = stage_in && one_buffer(call)
                   ? task.before.to
                   : staging_->out(extent.out, next_call_, executor_->done());
    task.after = {call.out, task.out, extent.out, lengths.out_counts == nullptr ? 0 : ranks_,
                  ranks_};
  }
  task.used_in.set(call.in, extent.in);
  task.used_out.set(call.out, extent.out);
  return {task.plan->algorithm,
          task.plan->source,
          task.pieces,
          {call.in, extent.in, in.way},
          {call.out, extent.out, out.way},
          false};
}

/// Some call of the direct engine has not ended. Those that failed before their turn have, though
/// they stay above done().
bool Communicator::any_on_the_way() const noexcept {
  const uint64_t skipped = executor_->skipped();
  const uint64_t done = executor_->done();
  uint64_t above = 0;
  for (uint64_t i = 0; i < kTasks; ++i) {
    above += tasks_[i].used_until.load(std::memory_order_acquire) > done ? 1 : 0;
  }
  return above != skipped;
}

bool Communicator::own_in_use(uint64_t address, uint64_t bytes) const noexcept {
  if (tasks_engine_ != nullptr && tasks_engine_->busy()) return true;
  const uint64_t end = address + bytes;
  const uint64_t done = executor_->done();
  const bool any = any_on_the_way();
  for (uint64_t i = 0; any && i < kTasks; ++i) {
    const exec::Task& task = tasks_[i];
    if (task.used_until.load(std::memory_order_acquire) <= done) continue;
    if (task.used_in.overlaps(address, end) || task.used_out.overlaps(address, end)) return true;
  }
  return messenger_->in_use(address, bytes);
}

std::string Communicator::why(const Buffer& buffer) const {
  if (buffer.way == Way::kNone) return "";
  if (last_call().as_tasks) return "the tasks engine takes all data through the HCCL buffers";
  std::string reasons;
  const auto add = [&](std::string_view who, std::string_view reason) {
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", who, reason);
  };
  for (const uint32_t space : order_) {
    if (space == exec::kTransportSpace) {
      if (in_heap(number(buffer.address), buffer.bytes)) break;
      add(config::kHeap, "not device memory of aclrtMalloc");
      continue;
    }
    const MemoryGroup& memory = *memories_[space - 1];
    uint64_t shift = 0;
    if (setup_.map->find_own(space, number(buffer.address), buffer.bytes, &shift)) break;
    char text[160] = {};
    memory.table().explain(memory.member(), buffer.address, buffer.bytes, text, sizeof text);
    add(memory.name(), text);
  }
  // What could have gone another way was moved because of what it overlaps.
  const bool overlapped =
      buffer.way == Way::kStaged && find_buffer(buffer.address, buffer.bytes).way != Way::kStaged;
  if (overlapped) add("staged", "input and output overlap in a way that the algorithm cannot do");
  return reasons;
}

LastCall Communicator::last_call() const noexcept {
  if (repeated_ == nullptr) return last_;
  const exec::Task& task = *repeated_;
  const exec::ExecPlan& plan = *task.plan;
  const auto buffer = [](const void* address, uint64_t bytes, uint8_t way) {
    return Buffer{address, bytes, static_cast<Way>(way)};
  };
  return {plan.algorithm,
          plan.source,
          task.pieces,
          buffer(task.prepared.in, task.used_in.bytes(), task.in_way),
          buffer(task.prepared.out, task.used_out.bytes(), task.out_way),
          false};
}

void Communicator::remember(const LastCall& call, const CallKey& key) {
  last_ = call;
  repeated_ = nullptr;
  ++calls_by_way_[static_cast<size_t>(std::max(call.in.way, call.out.way))];
  if (!traces_ || (!tracing() && !options_.debug.tasks)) return;
  const auto way = [this](const Buffer& buffer) {
    const std::string reasons = why(buffer);
    return std::string(way_name(buffer.way)) + (reasons.empty() ? "" : " (" + reasons + ")");
  };
  const std::string line =
      fmt::format("{} rank {}/{}: {} by {} ({}), in: {}, out: {}", name(), rank_, ranks_,
                  describe(key), call.algorithm, call.source, way(call.in), way(call.out));
  if (tracing()) write_trace(line + "\n");
  if (options_.debug.tasks) log::tell(fmt::format("TASK: {}, pieces: {}", line, call.pieces));
}

}  // namespace weft::comm
