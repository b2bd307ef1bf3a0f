// SPDX-License-Identifier: Apache-2.0
// What the tasks engine has in the memory of each rank that its peers reach, and which flags there
// are between two ranks.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft::exec {

/// Flags that a rank has for each peer, by index.
/// Signals of schedules go round a ring: the n-th one from a peer is flag n % kRing. When the
/// receiver has taken a half of the ring it records that half's credit at the sender, who waits for
/// it before using that half again. So no flag is ever recorded twice before it is waited for.
inline constexpr uint32_t kRing = 8;
inline constexpr uint32_t kHalfRing = kRing / 2;
inline constexpr uint32_t kCreditFlag = kRing;          // and the next one: of each half
inline constexpr uint32_t kMailFlag = kCreditFlag + 2;  // by slot: it holds a part of a message
inline constexpr uint32_t kMailSlots = 2;
inline constexpr uint32_t kTakenFlag = kMailFlag + kMailSlots;  // by slot: the receiver took it
inline constexpr uint32_t kPairFlags = kTakenFlag + kMailSlots;

/// Offsets and sizes in bytes. In, Out, both Scratch areas and Temp take twice the HCCL buffer; the
/// slots for messages come on top.
struct TaskLayout {
  uint64_t in = 0;
  uint64_t out = 0;
  uint64_t scratch[2] = {0, 0};
  uint64_t temp = 0;
  uint64_t mail = 0;        // kMailSlots slots for each sender
  uint64_t area_bytes = 0;  // of In and of Out
  uint64_t scratch_bytes = 0;
  uint64_t temp_bytes = 0;
  uint64_t slot_bytes = 0;
  uint64_t bytes = 0;

  [[nodiscard]] constexpr uint64_t slot(uint32_t sender, uint32_t index) const noexcept {
    return mail + (uint64_t{sender} * kMailSlots + index) * slot_bytes;
  }
};

/// Bytes of a Scratch area of the direct engine beside the tasks engine, which has the HCCL buffer:
/// it serves few calls.
constexpr uint64_t scratch_beside_tasks(uint64_t buffer) noexcept {
  constexpr uint64_t kLeast = uint64_t{1} << 20;
  return std::min(buffer, std::max(kLeast, buffer / 8));
}

constexpr TaskLayout task_layout(uint32_t ranks, uint64_t buffer) noexcept {
  constexpr uint64_t kPage = 4096;
  constexpr uint64_t kLongestSlot = uint64_t{256} << 10;
  const auto pages = [](uint64_t bytes) { return bytes / kPage * kPage; };
  const uint64_t unit = std::max(kPage, pages(buffer / 8));
  TaskLayout layout;
  layout.area_bytes = 4 * unit;
  layout.scratch_bytes = 3 * unit;
  layout.temp_bytes = 2 * unit;
  layout.out = layout.area_bytes;
  layout.scratch[0] = 2 * layout.area_bytes;
  layout.scratch[1] = layout.scratch[0] + layout.scratch_bytes;
  layout.temp = layout.scratch[1] + layout.scratch_bytes;
  layout.mail = layout.temp + layout.temp_bytes;
  layout.slot_bytes = std::clamp(pages(buffer / kMailSlots / ranks), kPage, kLongestSlot);
  layout.bytes = layout.mail + uint64_t{ranks} * kMailSlots * layout.slot_bytes;
  return layout;
}

}  // namespace weft::exec
