// SPDX-License-Identifier: Apache-2.0
// Symmetric windows and zero-copy ranges of the C API: null pointers and the communicator are
// checked here, the rest is the business of the memory plugin that offers the family.
#include <fmt/format.h>

#include "api/export.hpp"
#include "api/guard.hpp"
#include "api/operators.hpp"
#include "comm/library.hpp"
#include "hccl/hccl_comm.h"
#include "hccl/hccl_sym_win.h"

namespace weft::api {
namespace {

using comm::Communicator;
using comm::MemoryGroup;
using comm::OpenMemory;

/// Throws for a code of a plugin, with its own reason.
HcclResult check(int32_t code) {
  if (code == HCCL_SUCCESS) return HCCL_SUCCESS;
  throw Error(static_cast<HcclResult>(code), plugin::take_failure());
}

/// Runs body(table, member) for the plugin of the family, on the communicator's device. `argument`:
/// the address that the function is about.
template <class Body>
HcclResult with_plugin(HcclComm handle, uint32_t family, const Pointer& argument,
                       const Body& body) {
  const Communicator& comm = communicator(handle);
  const MemoryGroup& memory = comm.memory(family);
  const Communicator::Scope scope(comm);
  comm.check_argument(argument.name, argument.value);
  return check(body(memory.table(), memory.member()));
}

/// The first plugin that the policy orders and that offers windows. Throws Error.
OpenMemory windows_plugin() {
  const auto policy = comm::Library::instance().load_policy();
  for (const OpenMemory& each : comm::Library::instance().memories(*policy)) {
    const bool fits =
        each.plugin != nullptr && (each.plugin->table.families & WEFT_MEMORY_WINDOWS) != 0;
    if (fits) return each;
  }
  throw Error(HCCL_E_NOT_SUPPORT,
              fmt::format("no memory plugin that the policy {} uses offers symmetric windows",
                          policy->name()));
}

/// Asks every plugin that knows windows whether a handle or pointer is its own: it has no
/// communicator. `what` says what is wrong if it is nobody's.
template <class Body>
HcclResult with_owner(const char* what, const Body& body) {
  for (const OpenMemory& each : comm::Library::instance().opened_memories()) {
    if ((each.plugin->table.families & WEFT_MEMORY_WINDOWS) == 0) continue;
    const int32_t code = body(each.plugin->table, each.context);
    if (code != HCCL_E_NOT_FOUND) return check(code);
  }
  (void)plugin::take_failure();
  throw Error(HCCL_E_PARA, what);
}

template <class Body>
HcclResult with_window(const Body& body) {
  return with_owner("winHandle is no window of this process (deregistered?)", body);
}

}  // namespace
}  // namespace weft::api

using weft::api::require_all;

extern "C" {

WEFT_API HcclResult HcclCommSymWinRegister(HcclComm comm, void* addr, uint64_t size,
                                           HcclCommSymWindow* winHandle, uint32_t flag) {
  return weft::guard("HcclCommSymWinRegister", [&] {
    require_all({{"comm", comm}, {"addr", addr}, {"winHandle", winHandle}});
    return weft::api::with_plugin(
        comm, WEFT_MEMORY_WINDOWS, {"addr", addr}, [&](const weft_memory& table, void* member) {
          return table.window_register(member, addr, size, flag, winHandle);
        });
  });
}

WEFT_API HcclResult HcclCommSymWinDeregister(HcclCommSymWindow winHandle) {
  return weft::guard("HcclCommSymWinDeregister", [&] {
    require_all({{"winHandle", winHandle}});
    return weft::api::with_window([&](const weft_memory& table, void* context) {
      return table.window_deregister(context, winHandle);
    });
  });
}

WEFT_API HcclResult HcclCommSymWinGet(HcclComm comm, void* ptr, size_t size,
                                      HcclCommSymWindow* winHandle, size_t* offset) {
  return weft::guard("HcclCommSymWinGet", [&] {
    require_all({{"comm", comm}, {"ptr", ptr}, {"winHandle", winHandle}, {"offset", offset}});
    if (size == 0) throw weft::Error(HCCL_E_PARA, "size is 0");
    return weft::api::with_plugin(comm, WEFT_MEMORY_WINDOWS, {"ptr", ptr},
                                  [&](const weft_memory& table, void* member) {
                                    return table.window_find(member, ptr, size, winHandle, offset);
                                  });
  });
}

WEFT_API HcclResult HcclSymWinGetPeerPointer(HcclCommSymWindow winHandle, size_t offset,
                                             uint32_t peerRank, void** ptr) {
  return weft::guard("HcclSymWinGetPeerPointer", [&] {
    require_all({{"winHandle", winHandle}, {"ptr", ptr}});
    return weft::api::with_window([&](const weft_memory& table, void* context) {
      return table.window_peer(context, winHandle, offset, peerRank, ptr);
    });
  });
}

WEFT_API HcclResult HcommMemAlloc(void** ptr, size_t size) {
  return weft::guard("HcommMemAlloc", [&] {
    if (ptr == nullptr) throw weft::Error(HCCL_E_PARA, "ptr is a null pointer");
    if (size == 0) throw weft::Error(HCCL_E_PARA, "size is 0");
    const weft::comm::OpenMemory memory = weft::api::windows_plugin();
    return weft::api::check(memory.plugin->table.memory_alloc(memory.context, size, ptr));
  });
}

WEFT_API HcclResult HcommMemFree(void* ptr) {
  return weft::guard("HcommMemFree", [&] {
    if (ptr == nullptr) return HCCL_SUCCESS;
    return weft::api::with_owner(
        "ptr is not from HcommMemAlloc (freed?)",
        [&](const weft_memory& table, void* context) { return table.memory_free(context, ptr); });
  });
}

WEFT_API HcclResult HcclCommSetMemoryRange(HcclComm comm, void* baseVirPtr, size_t size,
                                           size_t alignment, uint64_t flags) {
  return weft::guard("HcclCommSetMemoryRange", [&] {
    require_all({{"comm", comm}, {"baseVirPtr", baseVirPtr}});
    return weft::api::with_plugin(comm, WEFT_MEMORY_RANGES, {"baseVirPtr", baseVirPtr},
                                  [&](const weft_memory& table, void* member) {
                                    return table.range_set(member, baseVirPtr, size, alignment,
                                                           flags);
                                  });
  });
}

WEFT_API HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void* baseVirPtr) {
  return weft::guard("HcclCommUnsetMemoryRange", [&] {
    require_all({{"comm", comm}, {"baseVirPtr", baseVirPtr}});
    return weft::api::with_plugin(comm, WEFT_MEMORY_RANGES, {"baseVirPtr", baseVirPtr},
                                  [&](const weft_memory& table, void* member) {
                                    return table.range_unset(member, baseVirPtr);
                                  });
  });
}

WEFT_API HcclResult HcclCommActivateCommMemory(HcclComm comm, void* virPtr, size_t size,
                                               size_t offset, aclrtDrvMemHandle handle,
                                               uint64_t flags) {
  return weft::guard("HcclCommActivateCommMemory", [&] {
    require_all({{"comm", comm}, {"virPtr", virPtr}, {"handle", handle}});
    return weft::api::with_plugin(
        comm, WEFT_MEMORY_RANGES, {"virPtr", virPtr}, [&](const weft_memory& table, void* member) {
          return table.range_activate(member, virPtr, size, offset, handle, flags);
        });
  });
}

WEFT_API HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void* virPtr) {
  return weft::guard("HcclCommDeactivateCommMemory", [&] {
    require_all({{"comm", comm}, {"virPtr", virPtr}});
    return weft::api::with_plugin(comm, WEFT_MEMORY_RANGES, {"virPtr", virPtr},
                                  [&](const weft_memory& table, void* member) {
                                    return table.range_deactivate(member, virPtr);
                                  });
  });
}

}  // extern "C"
