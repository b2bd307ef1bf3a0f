// SPDX-License-Identifier: Apache-2.0
#include "context.hpp"
#include "fault.hpp"

namespace weft::symwin {
namespace {

constexpr uint64_t kHandleTag = uint64_t{0x5749} << 48;  // no address has these bits

}  // namespace

void Area::show_peer(uint32_t peer) {
  peers_shown_.push_back(peer);
  const int32_t code = member.group.show_peer(member.group.self, peer, offset, own.bytes(),
                                              member.heap->address(peer, offset));
  if (code != WEFT_OK) peers_shown_.pop_back();
  demand(code, "show a peer's memory to operators");
}

void Area::show_own() {
  const std::lock_guard lock(member.shown_mutex);
  const auto added = member.shown.emplace(own.base(), own.bytes()).first;
  const int32_t code = member.group.show_own(member.group.self, own.base(), own.bytes(), offset);
  if (code != WEFT_OK) member.shown.erase(added);
  demand(code, "show the memory to operators");
  own_shown_ = true;
}

std::vector<uint32_t> Area::hide() noexcept {
  const weft_group& group = member.group;
  if (own_shown_) {
    group.hide_own(group.self, own.base(), own.bytes());
    const std::lock_guard lock(member.shown_mutex);
    member.shown.erase(own.base());
    own_shown_ = false;
  }
  for (const uint32_t peer : peers_shown_) group.hide_peer(group.self, peer, offset, own.bytes());
  return std::exchange(peers_shown_, {});
}

Area::~Area() { hide(); }

void leave_area(Area& area) {
  if (--area.users == 0) area.member.areas.erase(area.offset);
}

void* add_window(Context& context, Window window) {
  void* handle = reinterpret_cast<void*>(kHandleTag | ++context.last_handle);
  context.windows.emplace(handle, std::move(window));
  return handle;
}

}  // namespace weft::symwin
