// SPDX-License-Identifier: Apache-2.0
#include "exec/posts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <utility>

#include "base/error.hpp"
#include "plugin/registry.hpp"

namespace weft::exec {

using Kind = MessageStep::Kind;

Posts::Posts(uint32_t rank, const TaskLayout& layout, std::vector<std::byte*> shared,
             const TaskTools& tools, Pending& pending)
    : rank_(rank),
      layout_(layout),
      shared_(std::move(shared)),
      tools_(tools),
      pending_(pending),
      streams_(2 * shared_.size(), nullptr) {}

uint32_t Posts::chain(const MessageStep& step) const {
  const auto ranks = static_cast<uint32_t>(shared_.size());
  return (step.kind == Kind::kSend ? 0 : ranks) + step.peer;
}

void* Posts::stream(uint32_t chain) {
  if (streams_[chain] != nullptr) return streams_[chain];
  const int32_t code = tools_.table.stream(tools_.endpoint, &streams_[chain]);
  if (code != WEFT_OK) {
    streams_[chain] = nullptr;
    throw Error(static_cast<HcclResult>(code),
                fmt::format("no stream for messages: {}", plugin::take_failure()));
  }
  pending_.add_stream(streams_[chain]);
  return streams_[chain];
}

/// Part by part in turn, since queues have an end: what one message waits for must not be queued
/// behind the whole of another.
void Posts::run(std::span<const MessageStep> steps, std::span<const uint32_t> places, uint32_t call,
                TaskQueue& queue) {
  std::vector<uint32_t> chains;  // in use
  std::vector<std::deque<Open>> open(streams_.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const MessageStep& step = steps[i];
    if (step.kind == Kind::kCopy) {
      queue.copy(step.to, step.from, step.bytes, places[i]);
      continue;
    }
    const uint32_t number = chain(step);
    if (open[number].empty()) {
      chains.push_back(number);
      TaskQueue(tools_, stream(number)).follow(Pending::begin_mark(call));
    }
    open[number].push_back({&step, places[i]});
  }
  std::sort(chains.begin(), chains.end());  // sends come first
  for (bool any = true; any;) {
    any = false;
    for (const uint32_t number : chains) {
      if (open[number].empty()) continue;
      any = true;
      Open& first = open[number].front();
      TaskQueue own(tools_, streams_[number]);
      queue_part(first, own);
      if (first.part == parts(*first.step)) open[number].pop_front();
    }
  }
  for (const uint32_t number : chains) {
    const uint32_t mark = Pending::kMarks + number;
    TaskQueue(tools_, streams_[number]).mark(mark);
    queue.follow(mark);
    pending_.needs(call, number % static_cast<uint32_t>(shared_.size()), mark);
  }
}

void Posts::queue_part(Open& open, TaskQueue& queue) const {
  if (open.step->kind == Kind::kSend) {
    send_part(open, queue);
  } else {
    receive_part(open, queue);
  }
  ++open.part;
}

void Posts::send_part(const Open& open, TaskQueue& queue) const {
  const MessageStep& step = *open.step;
  const auto slot = static_cast<uint32_t>(open.part % kMailSlots);
  const uint64_t at = open.part * layout_.slot_bytes;
  if (open.part >= kMailSlots) queue.wait(step.peer, kTakenFlag + slot);
  queue.copy(shared_[step.peer] + layout_.slot(rank_, slot),
             static_cast<const std::byte*>(step.from) + at,
             std::min(step.bytes - at, layout_.slot_bytes), open.place);
  queue.record(step.peer, kMailFlag + slot);
  const uint64_t all = parts(step);
  if (open.part + 1 < all) return;
  for (uint64_t part = all - std::min<uint64_t>(all, kMailSlots); part < all; ++part) {
    queue.wait(step.peer, kTakenFlag + static_cast<uint32_t>(part % kMailSlots));
  }
}

void Posts::receive_part(const Open& open, TaskQueue& queue) const {
  const MessageStep& step = *open.step;
  const auto slot = static_cast<uint32_t>(open.part % kMailSlots);
  const uint64_t at = open.part * layout_.slot_bytes;
  queue.wait(step.peer, kMailFlag + slot);
  queue.copy(static_cast<std::byte*>(step.to) + at, shared_[rank_] + layout_.slot(step.peer, slot),
             std::min(step.bytes - at, layout_.slot_bytes), open.place);
  queue.record(step.peer, kTakenFlag + slot);
}

}  // namespace weft::exec
