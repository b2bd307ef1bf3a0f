// SPDX-License-Identifier: Apache-2.0
// What this plugin is, and its boundary: exceptions become codes, reasons go to the core.
#include "book.hpp"
#include "weft/abi.h"

namespace weft::zerocopy {
namespace {

Member& as_member(void* raw) { return *static_cast<Member*>(raw); }
uint64_t number(const void* address) { return reinterpret_cast<uint64_t>(address); }

int32_t open(const weft_host* host, void** context) {
  if (host->head.major != WEFT_ABI_MAJOR || !WEFT_HAS(host, weft_host, forget)) {
    return WEFT_E_NOT_SUPPORT;
  }
  // Lives as long as the process, like the plugin.
  return guarded(*host, [&] { *context = new Book(*host); });
}

int32_t attach_member(void* context, const weft_group* group, void** member) {
  Book& book = *static_cast<Book*>(context);
  if (group->head.major != WEFT_ABI_MAJOR || !WEFT_HAS(group, weft_group, peer_in_use)) {
    return WEFT_E_NOT_SUPPORT;
  }
  return guarded(book.host, [&] { *member = attach(book, *group); });
}

void detach_member(void* member) {
  const weft_host& host = as_member(member).book.host;
  guarded(host, [&] { detach(as_member(member)); });
}

void explain_to(void* member, const void* address, uint64_t bytes, char* text, uint64_t room) {
  if (room == 0) return;
  memory::guarded_explain(as_member(member).book.host, text, room, [&] {
    return explain(as_member(member), {number(address), bytes});
  });
}

int32_t range_set(void* member, void* base, uint64_t bytes, uint64_t alignment, uint64_t flags) {
  return guarded(as_member(member).book.host, [&] {
    set_range(as_member(member), {number(base), bytes}, alignment, flags);
  });
}

int32_t range_unset(void* member, void* base) {
  return guarded(as_member(member).book.host,
                 [&] { unset_range(as_member(member), number(base)); });
}

int32_t range_activate(void* member, void* address, uint64_t bytes, uint64_t offset, void* handle,
                       uint64_t flags) {
  return guarded(as_member(member).book.host, [&] {
    activate(as_member(member), {number(address), bytes}, offset, handle, flags);
  });
}

int32_t range_deactivate(void* member, void* address) {
  return guarded(as_member(member).book.host,
                 [&] { deactivate(as_member(member), number(address)); });
}

int32_t answer_peer(void* member, uint32_t peer, const void* question, uint64_t length) {
  return guarded(as_member(member).book.host,
                 [&] { answer(as_member(member), peer, question, length); });
}

weft_memory functions() noexcept {
  weft_memory table{};
  table.head = WEFT_HEAD(weft_memory);
  table.families = WEFT_MEMORY_RANGES;
  table.reach = WEFT_REACH_HOST;
  table.open = open;
  table.attach = attach_member;
  table.detach = detach_member;
  table.explain = explain_to;
  table.range_set = range_set;
  table.range_unset = range_unset;
  table.range_activate = range_activate;
  table.range_deactivate = range_deactivate;
  table.answer = answer_peer;
  return table;
}

}  // namespace
}  // namespace weft::zerocopy

extern "C" WEFT_EXPORT const weft_plugin_desc* weft_plugin(void) {
  static const weft_memory table = weft::zerocopy::functions();
  static const weft_plugin_desc desc = {WEFT_HEAD(weft_plugin_desc),
                                        WEFT_PLUGIN_MAGIC,
                                        WEFT_KIND_MEMORY,
                                        "zerocopy",
                                        "1.0.0",
                                        "zero-copy ranges: memory that grows, mapped by all ranks",
                                        &table};
  return &desc;
}
