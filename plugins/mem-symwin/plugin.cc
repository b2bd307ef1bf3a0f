// SPDX-License-Identifier: Apache-2.0
// What this plugin is, and the edge to the core: no exception goes further.
#include <new>
#include <string>

#include "context.hpp"
#include "fault.hpp"

namespace weft::symwin {
namespace {

uint64_t number(const void* address) { return reinterpret_cast<uint64_t>(address); }

int32_t open(const weft_host* host, void** context) {
  if (host->head.major != WEFT_ABI_MAJOR || !WEFT_HAS(host, weft_host, forget)) {
    return WEFT_E_NOT_SUPPORT;
  }
  auto* made = new (std::nothrow) Context;
  if (made == nullptr) return WEFT_E_OOM;
  made->host = host;
  *context = made;  // lives as long as the process, like the plugin
  return WEFT_OK;
}

int32_t attach(void* context, const weft_group* group, void** member) {
  auto& all = *static_cast<Context*>(context);
  return guarded(*all.host, [&] {
    if (group->head.major != WEFT_ABI_MAJOR || !WEFT_HAS(group, weft_group, peer_in_use)) {
      throw Fault(WEFT_E_NOT_SUPPORT, "this library is older than the plugin");
    }
    *member = new Member(all, *group);
  });
}

void detach(void* member) {
  auto* mine = static_cast<Member*>(member);
  close_member(*mine);
  delete mine;
}

void explain_to(void* member, const void* address, uint64_t bytes, char* text, uint64_t room) {
  if (room == 0) return;
  auto& mine = *static_cast<Member*>(member);
  memory::guarded_explain(*mine.context.host, text, room,
                          [&] { return explain(mine, number(address), bytes); });
}

int32_t window_register(void* member, void* address, uint64_t bytes, uint32_t flag, void** window) {
  auto& mine = *static_cast<Member*>(member);
  return guarded(*mine.context.host,
                 [&] { *window = register_window(mine, number(address), bytes, flag); });
}

int32_t window_deregister(void* context, void* window) {
  auto& all = *static_cast<Context*>(context);
  return guarded(*all.host, [&] { deregister_window(all, window); });
}

int32_t window_find(void* member, void* address, uint64_t bytes, void** window, uint64_t* offset) {
  auto& mine = *static_cast<Member*>(member);
  return guarded(*mine.context.host, [&] {
    const auto [handle, place] = find_window(mine, number(address), bytes);
    *window = handle;
    *offset = place;
  });
}

int32_t window_peer(void* context, void* window, uint64_t offset, uint32_t peer, void** pointer) {
  auto& all = *static_cast<Context*>(context);
  return guarded(*all.host, [&] {
    *pointer = reinterpret_cast<void*>(peer_address(all, window, offset, peer));
  });
}

int32_t memory_alloc(void* context, uint64_t bytes, void** pointer) {
  auto& all = *static_cast<Context*>(context);
  return guarded(*all.host, [&] { *pointer = allocate_memory(all, bytes); });
}

int32_t memory_free(void* context, void* pointer) {
  auto& all = *static_cast<Context*>(context);
  return guarded(*all.host, [&] { free_memory(all, pointer); });
}

weft_memory windows() noexcept {
  weft_memory table{};
  table.head = WEFT_HEAD(weft_memory);
  table.families = WEFT_MEMORY_WINDOWS;
  table.reach = WEFT_REACH_HOST;
  table.open = open;
  table.attach = attach;
  table.detach = detach;
  table.explain = explain_to;
  table.window_register = window_register;
  table.window_deregister = window_deregister;
  table.window_find = window_find;
  table.window_peer = window_peer;
  table.memory_alloc = memory_alloc;
  table.memory_free = memory_free;
  return table;
}

}  // namespace
}  // namespace weft::symwin

extern "C" WEFT_EXPORT const weft_plugin_desc* weft_plugin(void) {
  static const weft_memory table = weft::symwin::windows();
  static const weft_plugin_desc desc = {WEFT_HEAD(weft_plugin_desc),
                                        WEFT_PLUGIN_MAGIC,
                                        WEFT_KIND_MEMORY,
                                        "symwin",
                                        "1.0.0",
                                        "symmetric windows over physical memory of the program",
                                        &table};
  return &desc;
}
