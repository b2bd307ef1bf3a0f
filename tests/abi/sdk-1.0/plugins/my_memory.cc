// SPDX-License-Identifier: Apache-2.0
// A memory plugin with symmetric windows for ranks that are threads of one process. Nothing is
// mapped: an address of a peer is good here, so it serves as the token of its memory, too.
// weft/memory.h says what each entry owes.
#include <acl/acl_rt.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "weft/sdk.hpp"

namespace {

struct Member;

struct Window {
  Member* member;
  uint64_t bytes;
  std::vector<uint64_t> addresses;  // by rank
  std::set<uint32_t> shown;         // ranks whose part the core knows
};

struct Context {  // one for the process; it is never freed
  const weft_host* host = nullptr;
  std::mutex mutex;                                  // of all that follows
  std::map<void*, std::unique_ptr<Window>> windows;  // by handle, the address of the window
  std::set<void*> allocated;
};

struct Member {  // one rank of one communicator
  Context& context;
  const weft_group& group;
};

// What a rank tells the others while a window is registered.
struct Offer {
  int32_t code;
  uint64_t address;
  uint64_t bytes;
};

uint64_t number(const void* address) { return reinterpret_cast<uint64_t>(address); }

int32_t fail(const Context& context, int32_t code, const std::string& text) {
  context.host->fail(text.data(), text.size());
  return code;
}

// No exception may cross to the core (P8).
template <typename Body>
int32_t guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return WEFT_E_OOM;
  } catch (...) {
    return WEFT_E_INTERNAL;
  }
}

int32_t open_context(const weft_host* host, void** context) {
  // The library may be of another version than these headers (P6).
  if (host->head.major != WEFT_ABI_MAJOR || !WEFT_HAS(host, weft_host, fail)) {
    return WEFT_E_NOT_SUPPORT;
  }
  return guarded([&] {
    auto* made = new Context;
    made->host = host;
    *context = made;
    return WEFT_OK;
  });
}

int32_t attach(void* context, const weft_group* group, void** member) {
  if (group->head.major != WEFT_ABI_MAJOR || !WEFT_HAS(group, weft_group, peer_in_use)) {
    return WEFT_E_NOT_SUPPORT;
  }
  return guarded([&] {
    *member = new Member{*static_cast<Context*>(context), *group};
    return WEFT_OK;
  });
}

void hide(Window& window) {
  const weft_group& group = window.member->group;
  for (const uint32_t rank : window.shown) {
    const uint64_t place = window.addresses[rank];
    if (rank == group.rank) {
      group.hide_own(group.self, place, window.bytes);
    } else {
      group.hide_peer(group.self, rank, place, window.bytes);
    }
  }
  window.shown.clear();
}

void detach(void* raw) {
  const std::unique_ptr<Member> member(static_cast<Member*>(raw));
  const std::lock_guard lock(member->context.mutex);
  auto& windows = member->context.windows;
  for (auto at = windows.begin(); at != windows.end();) {
    const bool mine = at->second->member == member.get();
    if (mine) hide(*at->second);
    at = mine ? windows.erase(at) : std::next(at);
  }
}

void explain(void*, const void*, uint64_t, char* text, uint64_t room) {
  if (room > 0) std::snprintf(text, room, "outside every window of this communicator");
}

// Collective: everybody's offer, by rank.
int32_t exchange(const Member& member, const Offer& mine, std::vector<Offer>& all) {
  const weft_group& group = member.group;
  all.assign(group.ranks, mine);
  if (group.ranks == 1) return WEFT_OK;
  const auto keep = [](void* arg, uint32_t rank, const void* bytes, uint64_t length) {
    auto& offers = *static_cast<std::vector<Offer>*>(arg);
    if (length == sizeof(Offer)) std::memcpy(&offers[rank], bytes, length);
  };
  return group.all_gather(group.self, &mine, sizeof mine, keep, &all);
}

// The first rank that cannot register makes all ranks give up, each with a reason.
int32_t agree(const Member& member, const std::vector<Offer>& offers) {
  for (uint32_t rank = 0; rank < offers.size(); ++rank) {
    if (offers[rank].code == WEFT_OK && offers[rank].bytes == offers[0].bytes) continue;
    return fail(member.context, offers[rank].code != WEFT_OK ? WEFT_E_INTERNAL : WEFT_E_PARA,
                "no rank registers the window, since rank " + std::to_string(rank) +
                    (offers[rank].code != WEFT_OK ? " cannot" : " has another size than rank 0"));
  }
  return WEFT_OK;
}

int32_t show(Window& window, uint32_t rank) {
  const weft_group& group = window.member->group;
  const uint64_t place = window.addresses[rank];
  const int32_t code = rank == group.rank
                           ? group.show_own(group.self, place, window.bytes, place)
                           : group.show_peer(group.self, rank, place, window.bytes, place);
  if (code == WEFT_OK) window.shown.insert(rank);
  return code;
}

int32_t show_peers(Window& window) {
  const weft_group& group = window.member->group;
  int32_t code = WEFT_OK;
  for (uint32_t rank = 0; rank < group.ranks && code == WEFT_OK; ++rank) {
    if (rank != group.rank) code = show(window, rank);
  }
  return code;
}

int32_t check(const Member& member, uint64_t bytes, uint32_t flag) {
  const weft_group& group = member.group;
  if (flag != 1) return fail(member.context, WEFT_E_PARA, "flag must be 1");
  if (bytes == 0) return fail(member.context, WEFT_E_PARA, "size is 0");
  for (uint32_t rank = 0; rank < group.ranks; ++rank) {
    if (group.processes[rank] == group.processes[group.rank]) continue;
    return fail(member.context, WEFT_E_UNAVAIL,
                "rank " + std::to_string(rank) +
                    " is in another process; these windows are for threads of one");
  }
  return WEFT_OK;
}

int32_t window_register(void* raw, void* address, uint64_t bytes, uint32_t flag, void** handle) {
  auto& member = *static_cast<Member*>(raw);
  return guarded([&]() -> int32_t {
    // The arguments are the caller's alone; all that follows, every rank does.
    int32_t code = check(member, bytes, flag);
    if (code != WEFT_OK) return code;
    auto window = std::make_unique<Window>(Window{&member, bytes, {}, {}});
    std::vector<Offer> offers;
    code = exchange(member, {WEFT_OK, number(address), bytes}, offers);
    if (code == WEFT_OK) code = agree(member, offers);
    if (code != WEFT_OK) return code;
    for (const Offer& each : offers) window->addresses.push_back(each.address);

    // A rank shows its own part once all others know it: weft/memory.h has the reason.
    const int32_t shown = show_peers(*window);
    code = exchange(member, {shown, number(address), bytes}, offers);
    if (code == WEFT_OK) code = shown != WEFT_OK ? shown : agree(member, offers);
    if (code == WEFT_OK) code = show(*window, member.group.rank);
    if (code != WEFT_OK) {
      hide(*window);
      return code;
    }
    const std::lock_guard lock(member.context.mutex);
    *handle = window.get();
    member.context.windows.emplace(*handle, std::move(window));
    return WEFT_OK;
  });
}

// The caller holds the lock.
Window* find(Context& context, void* handle) {
  const auto found = context.windows.find(handle);
  return found == context.windows.end() ? nullptr : found->second.get();
}

int32_t no_window(const Context& context) {
  return fail(context, WEFT_E_NOT_FOUND, "it is no window, or has been deregistered");
}

int32_t window_deregister(void* raw, void* handle) {
  auto& context = *static_cast<Context*>(raw);
  return guarded([&] {
    const std::lock_guard lock(context.mutex);
    Window* window = find(context, handle);
    if (window == nullptr) return no_window(context);
    const weft_group& group = window->member->group;
    bool used = group.own_in_use(group.self, window->addresses[group.rank], window->bytes) != 0;
    for (uint32_t rank = 0; rank < group.ranks; ++rank) {
      used = used || (rank != group.rank && group.peer_in_use(group.self, rank) != 0);
    }
    if (used) return fail(context, WEFT_E_AGAIN, "calls that use it have not ended");
    hide(*window);
    context.windows.erase(handle);
    return WEFT_OK;
  });
}

int32_t window_find(void* raw, void* address, uint64_t bytes, void** handle, uint64_t* offset) {
  auto& member = *static_cast<Member*>(raw);
  return guarded([&] {
    const std::lock_guard lock(member.context.mutex);
    for (const auto& [known, window] : member.context.windows) {
      if (window->member != &member) continue;
      const uint64_t at = number(address) - window->addresses[member.group.rank];
      if (at >= window->bytes || bytes > window->bytes - at) continue;
      *handle = known;
      *offset = at;
      return WEFT_OK;
    }
    return fail(member.context, WEFT_E_NOT_FOUND, "no window of this communicator contains it");
  });
}

int32_t window_peer(void* raw, void* handle, uint64_t offset, uint32_t peer, void** pointer) {
  auto& context = *static_cast<Context*>(raw);
  return guarded([&] {
    const std::lock_guard lock(context.mutex);
    const Window* window = find(context, handle);
    if (window == nullptr) return no_window(context);
    if (peer >= window->addresses.size() || offset >= window->bytes) {
      return fail(context, WEFT_E_PARA, "there is no such rank, or no such byte in the window");
    }
    *pointer = reinterpret_cast<void*>(window->addresses[peer] + offset);
    return WEFT_OK;
  });
}

int32_t memory_alloc(void* raw, uint64_t bytes, void** pointer) {
  auto& context = *static_cast<Context*>(raw);
  return guarded([&] {
    if (aclrtMalloc(pointer, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS) {
      return fail(context, WEFT_E_OOM, "the device has no " + std::to_string(bytes) + " bytes");
    }
    const std::lock_guard lock(context.mutex);
    context.allocated.insert(*pointer);
    return WEFT_OK;
  });
}

int32_t memory_free(void* raw, void* pointer) {
  auto& context = *static_cast<Context*>(raw);
  return guarded([&] {
    const std::lock_guard lock(context.mutex);
    if (context.allocated.erase(pointer) == 0) {
      return fail(context, WEFT_E_NOT_FOUND, "it is not from HcommMemAlloc, or was freed");
    }
    return aclrtFree(pointer) == ACL_SUCCESS ? WEFT_OK : WEFT_E_RUNTIME;
  });
}

constexpr weft_memory make_table() {
  weft_memory t{};
  t.head = WEFT_HEAD(weft_memory);
  t.families = WEFT_MEMORY_WINDOWS;
  t.reach = WEFT_REACH_PROCESS;
  t.open = open_context;
  t.attach = attach;
  t.detach = detach;
  t.explain = explain;
  t.window_register = window_register;
  t.window_deregister = window_deregister;
  t.window_find = window_find;
  t.window_peer = window_peer;
  t.memory_alloc = memory_alloc;
  t.memory_free = memory_free;
  return t;
}
constinit const weft_memory table = make_table();

}  // namespace

WEFT_MEMORY_PLUGIN("my_memory", "1.0.0", "windows for threads of one process", table);
