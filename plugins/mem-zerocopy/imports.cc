// SPDX-License-Identifier: Apache-2.0
#include "imports.hpp"

namespace weft::zerocopy {

Shadow& Imports::open(const RemoteRange& range) {
  if (Shadow* known = find(range)) return *known;
  auto room = std::make_shared<Reservation>(range.span.bytes, range.flags);
  return processes_[range.process]
      .emplace(range.span.base, Shadow{range.span.bytes, range.serial, false, std::move(room), {}})
      .first->second;
}

Shadow* Imports::find(const RemoteRange& range) {
  const auto process = processes_.find(range.process);
  if (process == processes_.end()) return nullptr;
  const auto shadow = process->second.find(range.span.base);
  if (shadow == process->second.end() || shadow->second.serial != range.serial) return nullptr;
  return &shadow->second;
}

Removed Imports::take_stale(const RemoteRange& range) {
  Removed removed;
  const auto process = processes_.find(range.process);
  if (process == processes_.end()) return removed;
  Shadows& shadows = process->second;
  auto shadow = find_overlap(shadows, range.span);
  while (shadow != shadows.end() && shadow->first < range.span.end()) {
    const auto next = std::next(shadow);
    if (shadow->second.serial != range.serial) {
      removed.merge(shadow->second.blocks);
      shadows.erase(shadow);
    }
    shadow = next;
  }
  return removed;
}

Removed Imports::take_range(const RemoteRange& range) {
  Shadow* shadow = find(range);
  if (shadow == nullptr) return {};
  Removed removed = std::move(shadow->blocks);
  Shadows& shadows = processes_.at(range.process);
  forget(range.process, shadows.find(range.span.base));
  return removed;
}

Removed Imports::take_block(const RemoteRange& range, const Span& span) {
  Removed removed;
  Shadow* shadow = find(range);
  if (shadow == nullptr) return removed;
  for (;;) {
    const auto block = find_overlap(shadow->blocks, span);
    if (block == shadow->blocks.end()) break;
    removed.insert(shadow->blocks.extract(block));
  }
  if (!shadow->set && shadow->blocks.empty()) {
    forget(range.process, processes_.at(range.process).find(range.span.base));
  }
  return removed;
}

void Imports::forget(uint64_t process, Shadows::iterator shadow) {
  Shadows& shadows = processes_.at(process);
  shadows.erase(shadow);
  if (shadows.empty()) processes_.erase(process);
}

}  // namespace weft::zerocopy
