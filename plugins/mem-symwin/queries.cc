// SPDX-License-Identifier: Apache-2.0
// What a rank does with windows alone: finding them, reaching peers through them, closing them.
#include <fmt/format.h>

#include "context.hpp"
#include "fault.hpp"

namespace weft::symwin {
namespace {

using Entry = std::map<void*, Window>::iterator;

/// The caller holds the context's lock.
Entry find_handle(Context& context, void* handle) {
  const auto found = context.windows.find(handle);
  if (found != context.windows.end() && context.process == getpid()) return found;
  throw Fault(
      WEFT_E_NOT_FOUND,
      fmt::format("{} is no window: it was never registered, or has been deregistered", handle));
}

/// Whether a call has a buffer in the area, at the program's addresses or those of peer pointers,
/// or works with a peer's buffer in it.
bool is_used(const Area& area) {
  const weft_group& group = area.member.group;
  const uint64_t bytes = area.own.bytes();
  if (group.own_in_use(group.self, area.own.base(), bytes) != 0) return true;
  for (uint32_t rank = 0; rank < group.ranks; ++rank) {
    const uint64_t alias = area.member.heap->address(rank, area.offset);
    if (group.own_in_use(group.self, alias, bytes) != 0) return true;
    if (rank != group.rank && group.peer_in_use(group.self, rank) != 0) return true;
  }
  return false;
}

/// Hides what is about to be unmapped. Throws, with nothing changed, while calls use it.
void hide_unused(Area& area) {
  const Fault fault(WEFT_E_AGAIN,
                    fmt::format("operators that use the window of {} bytes at {:#x}, or another "
                                "one of a peer, have not ended; synchronise the streams they were "
                                "called with and try again",
                                area.own.bytes(), area.own.base()));
  if (is_used(area)) throw Fault(fault);
  const std::vector<uint32_t> peers = area.hide();
  // A call on another thread may have found it in between. One that looks now finds nothing.
  if (!is_used(area)) return;
  for (const uint32_t peer : peers) area.show_peer(peer);
  area.show_own();
  throw Fault(fault);
}

}  // namespace

void deregister_window(Context& context, void* handle) {
  const std::lock_guard lock(context.mutex);
  const Entry found = find_handle(context, handle);
  Area* area = found->second.area;
  if (area != nullptr && area->users == 1) hide_unused(*area);
  context.windows.erase(found);
  if (area != nullptr) leave_area(*area);
}

std::pair<void*, uint64_t> find_window(Member& member, uint64_t address, uint64_t bytes) {
  if (bytes == 0) throw Fault(WEFT_E_PARA, "size is 0; ask for at least one byte");
  const std::lock_guard lock(member.context.mutex);
  const std::pair<void* const, Window>* best = nullptr;
  for (const auto& entry : member.context.windows) {
    const Window& window = entry.second;
    if (window.member != &member || window.area == nullptr || address < window.address) continue;
    const uint64_t end = window.area->own.end();
    if (address >= end || bytes > end - address) continue;
    if (best == nullptr || window.address < best->second.address) best = &entry;
  }
  if (best != nullptr) return {best->first, address - best->second.address};
  throw Fault(WEFT_E_NOT_FOUND, fmt::format("no window of this communicator contains the {} bytes "
                                            "at {:#x}",
                                            bytes, address));
}

uint64_t peer_address(Context& context, void* handle, uint64_t offset, uint32_t peer) {
  const std::lock_guard lock(context.mutex);
  const Window& window = find_handle(context, handle)->second;
  const weft_group& group = window.member->group;
  if (peer >= group.ranks) {
    throw Fault(WEFT_E_PARA,
                fmt::format("peer rank {} does not exist; the communicator has {} ranks", peer,
                            group.ranks));
  }
  const Area* area = window.area;
  const uint64_t start = area == nullptr ? 0 : window.starts[peer];
  const uint64_t own_start = area == nullptr ? 0 : window.starts[group.rank];
  const uint64_t end = area == nullptr ? window.bytes : area->own.bytes();
  if (offset >= end - own_start || offset >= end - start) {
    throw Fault(WEFT_E_PARA,
                fmt::format("offset {} lies beyond the window, which has {} bytes on this rank and "
                            "{} on rank {}",
                            offset, end - own_start, end - start, peer));
  }
  if (area == nullptr) return window.address + offset;
  return window.member->heap->address(peer, area->offset + start + offset);
}

void close_member(Member& member) {
  const std::lock_guard lock(member.context.mutex);
  std::erase_if(member.context.windows,
                [&](const auto& entry) { return entry.second.member == &member; });
  member.areas.clear();
  member.heap.reset();
}

std::string explain(Member& member, uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(member.shown_mutex);
  for (const auto& [base, size] : member.shown) {
    if (address < base + size && base < address + bytes) {
      return fmt::format("partly outside the window at {:#x} of {} bytes", base, size);
    }
  }
  return "outside every window of this communicator";
}

}  // namespace weft::symwin
