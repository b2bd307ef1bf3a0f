// SPDX-License-Identifier: Apache-2.0
#include "exec/range_table.hpp"

#include <sched.h>

#include <algorithm>

namespace weft::exec {
namespace {

constexpr uint32_t kFirstRoom = 8;

}  // namespace

bool RangeTable::add(uint64_t begin, uint64_t bytes, uint64_t to) {
  const uint64_t end = begin + bytes;
  if (bytes == 0 || end < begin) return false;
  const uint64_t shift = to - begin;
  auto after = std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                                [](uint64_t at, const Range& r) { return at < r.begin; });
  if (after != ranges_.end() && after->begin < end) return false;
  if (after != ranges_.begin() && (after - 1)->end > begin) return false;
  after = ranges_.insert(after, {begin, end, shift});
  if (after + 1 != ranges_.end() && (after + 1)->begin == end && (after + 1)->shift == shift) {
    after->end = (after + 1)->end;
    ranges_.erase(after + 1);
  }
  if (after != ranges_.begin() && (after - 1)->end == begin && (after - 1)->shift == shift) {
    (after - 1)->end = after->end;
    ranges_.erase(after);
  }
  publish();
  return true;
}

void RangeTable::remove(uint64_t begin, uint64_t bytes) {
  const uint64_t end = begin + bytes;
  std::vector<Range> left;
  left.reserve(ranges_.size() + 1);
  for (const Range& r : ranges_) {
    if (r.end <= begin || r.begin >= end) {
      left.push_back(r);
      continue;
    }
    if (r.begin < begin) left.push_back({r.begin, begin, r.shift});
    if (r.end > end) left.push_back({end, r.end, r.shift});
  }
  ranges_ = std::move(left);
  publish();
}

void RangeTable::publish() {
  const auto count = static_cast<uint32_t>(ranges_.size());
  if (count > room_) {
    const uint32_t room = std::max(kFirstRoom, 2 * count);
    arrays_.push_back(std::make_unique<Slot[]>(room));
    room_ = room;
  }
  // Releases and acquires, and no fences, which the thread sanitizer does not know: no store to a
  // slot goes before the odd version, no load from one after the second look at the version.
  const uint64_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1, std::memory_order_seq_cst);
  if (count > 0) slots_.store(arrays_.back().get(), std::memory_order_release);
  count_.store(count, std::memory_order_release);
  for (uint32_t i = 0; i < count; ++i) {
    Slot& slot = arrays_.back()[i];
    slot.begin.store(ranges_[i].begin, std::memory_order_release);
    slot.end.store(ranges_[i].end, std::memory_order_release);
    slot.shift.store(ranges_[i].shift, std::memory_order_release);
  }
  version_.store(version + 2, std::memory_order_seq_cst);
}

bool RangeTable::find(uint64_t begin, uint64_t bytes, uint64_t* shift) const noexcept {
  for (;;) {
    const uint64_t version = version_.load(std::memory_order_seq_cst);
    if ((version & 1) == 0) {
      const bool found = look(begin, bytes, shift);
      if (version_.load(std::memory_order_relaxed) == version) return found;
    }
    sched_yield();  // the writer may wait for this core
  }
}

/// The last range that begins at `begin` or before; nonsense if a change is under way, but within
/// the array.
bool RangeTable::look(uint64_t begin, uint64_t bytes, uint64_t* shift) const noexcept {
  uint32_t low = 0;
  uint32_t high = count_.load(std::memory_order_acquire);
  const Slot* slots = slots_.load(std::memory_order_acquire);
  while (low < high) {
    const uint32_t middle = (low + high) / 2;
    if (slots[middle].begin.load(std::memory_order_acquire) <= begin) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == 0) return false;
  const Slot& slot = slots[low - 1];
  const uint64_t end = slot.end.load(std::memory_order_acquire);
  *shift = slot.shift.load(std::memory_order_acquire);
  return begin < end && bytes <= end - begin;
}

}  // namespace weft::exec
