// SPDX-License-Identifier: Apache-2.0
#include "comm/tasks_engine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/closing.hpp"
#include "schedule/builder.hpp"
#include "schedule/partners.hpp"

namespace weft::comm {
namespace {

// A wait on a stream may take so much longer than a call: the thread that looks after calls comes
// first.
constexpr uint32_t kSlackSeconds = 5;

uint32_t wait_seconds(std::chrono::milliseconds timeout) {
  if (timeout.count() == 0) return 0;
  const auto seconds = static_cast<uint64_t>(timeout.count() + 999) / 1000 + kSlackSeconds;
  return static_cast<uint32_t>(std::min<uint64_t>(seconds, INT32_MAX));
}

}  // namespace

void TasksEngine::ask_for(weft_endpoint_params& params) {
  params.engine = WEFT_ENGINE_TASKS;
  params.flags = exec::kPairFlags;
  params.marks = exec::Pending::kMarks + exec::Posts::marks(params.ranks);
}

TasksEngine::TasksEngine(const weft_transport& transport, void* endpoint,
                         const weft_endpoint_params& params, uint64_t buffer)
    : transport_(transport),
      endpoint_(endpoint),
      rank_(params.rank),
      layout_(exec::task_layout(params.ranks, buffer)),
      boards_(std::make_unique<exec::Board[]>(2)) {}

std::unique_ptr<TasksEngine> TasksEngine::open(const weft_transport& transport, void* context,
                                               const weft_endpoint_params& params,
                                               uint64_t buffer) {
  for (;;) {
    void* endpoint = nullptr;
    int32_t code = transport.endpoint_open(context, &params, &endpoint);
    if (code == WEFT_OK) {
      std::unique_ptr<TasksEngine> made(new TasksEngine(transport, endpoint, params, buffer));
      code = transport.tasks->share(endpoint, made->layout_.bytes, &made->shared_);
      if (code == WEFT_OK) return made;
    }
    const std::string why = plugin::take_failure();
    // What is about to be closed may hold what is missing.
    if (close_now()) continue;
    throw Error(static_cast<HcclResult>(code), fmt::format("opening an endpoint: {}", why));
  }
}

TasksEngine::~TasksEngine() {
  pending_.reset();
  aside_.reset();
  if (watch_ != nullptr) {
    close_later(transport_, endpoint_);
  } else {
    transport_.endpoint_close(endpoint_);  // nobody knows it
  }
}

void TasksEngine::start(const exec::Setup& setup, exec::Watch& watch) {
  watch_ = &watch;
  tools_ = std::make_unique<exec::TaskTools>(
      exec::TaskTools{*transport_.tasks, endpoint_, watch, wait_seconds(setup.timeout)});
  pending_ = std::make_unique<exec::Pending>(setup, *tools_, watch);
  lowering_ = std::make_unique<exec::Lowering>(rank_, layout_, peers_);
  posts_ = std::make_unique<exec::Posts>(rank_, layout_, peers_, *tools_, *pending_);
  issued_ = std::make_unique<exec::Issued>(setup, watch);
  aside_ = std::make_unique<Staging>(transport_, endpoint_);
}

void TasksEngine::shape(schedule::Geometry& geometry) const {
  geometry.staged = true;
  geometry.scratch_bytes = layout_.scratch_bytes;
  geometry.in_bytes = layout_.area_bytes;
  geometry.out_bytes = layout_.area_bytes;
  geometry.temp_bytes = layout_.temp_bytes;
}

void* TasksEngine::room_aside(uint64_t bytes) {
  const uint64_t issued = pending_->issued();
  return aside_->in(bytes, issued + 1, pending_->busy() ? 0 : issued);
}

std::vector<bool> TasksEngine::partners(const plugin::Algorithm& algorithm,
                                        const schedule::Shape& shape,
                                        const std::vector<int64_t>& params) {
  std::vector<bool>& known = partners_[{algorithm.name, shape.op, shape.root, params}];
  if (known.empty()) {
    known = schedule::partners(shape, [&](const schedule::Shape& of) {
      return schedule::emit(algorithm.table, algorithm.name.c_str(), of, params);
    });
  }
  return known;
}

uint32_t TasksEngine::locate(const void* buffer, uint64_t bytes) const {
  uint32_t place = WEFT_SIDE_DEVICE;
  if (bytes == 0) return place;
  const int32_t code = transport_.tasks->locate(endpoint_, buffer, bytes, &place);
  if (code == WEFT_OK) return place;
  throw Error(static_cast<HcclResult>(code), plugin::take_failure());
}

/// A rank that has left will never do its part, and its memory is not to be written to.
void TasksEngine::require_member(uint32_t peer, const CallKey& key) {
  if (watch_->state(peer) != exec::PeerState::kLeft) return;
  const int32_t code = watch_->raise_remote(peer, pending_->issued() + 1, key);
  throw Error(static_cast<HcclResult>(code), watch_->health_text());
}

/// Puts a call on the stream. What stops in between leaves peers waiting for the rest: then this
/// communicator has failed. Returns the call.
template <class Body>
uint32_t TasksEngine::carry_out(const CallKey& key, void* stream, const Body& body) {
  exec::TaskQueue queue(*tools_, stream);
  const uint32_t call = pending_->begin(key, queue);
  try {
    body(queue, call);
    pending_->end(call, queue);
  } catch (const std::exception& error) {
    const auto* known = dynamic_cast<const Error*>(&error);
    pending_->fail(known == nullptr ? HCCL_E_INTERNAL : known->code(), error.what());
    pending_->cancel(call);
    throw;
  }
  return call;
}

void TasksEngine::issue(exec::TaskCall call, const CallKey& key, void* stream) {
  for (uint32_t peer = 0; peer < ranks(); ++peer) {
    if (exec::involves(call, peer, ranks())) require_member(peer, key);
  }
  const uint32_t number = carry_out(key, stream, [&](exec::TaskQueue& queue, uint32_t place) {
    // Now nothing can be refused any more that is no failure.
    if (const int32_t code = issued_->add(key, call.fingerprint); code != 0) {
      throw Error(static_cast<HcclResult>(code), watch_->health_text());
    }
    call.told_mark = exec::Pending::told_mark(place);
    // In pieces, an all_to_all_v is through with some peers before others.
    const bool together = !call.plan->plan.own_blocks || exec::pieces_of(call, ranks()) == 1;
    for (uint32_t peer = 0; together && peer < ranks(); ++peer) {
      if (exec::involves(call, peer, ranks())) pending_->needs(place, peer, call.told_mark);
    }
    pending_->follow_last_collective(queue);
    lowering_->run(call, queue);
  });
  pending_->set_last_collective(number);
}

void TasksEngine::issue(std::span<const exec::MessageStep> steps, void* stream) {
  using Kind = exec::MessageStep::Kind;
  CallKey key{steps.size(), 0, kOpBatch, 0, 0, 0};
  if (steps.size() == 1) {
    const exec::MessageStep& only = steps.front();
    key = {only.count, only.peer, only.kind == Kind::kReceive ? kOpReceive : kOpSend,
           only.type,  0,         0};
  }
  std::vector<uint32_t> places;
  for (const exec::MessageStep& step : steps) {
    if (step.kind != Kind::kCopy) require_member(step.peer, key);
    uint32_t place = WEFT_SIDE_DEVICE;
    if (step.from != nullptr) place = std::max(place, locate(step.from, step.bytes));
    if (step.to != nullptr) place = std::max(place, locate(step.to, step.bytes));
    places.push_back(place);
  }
  carry_out(key, stream, [&](exec::TaskQueue& queue, uint32_t call) {
    posts_->run(steps, places, call, queue);
  });
}

}  // namespace weft::comm
