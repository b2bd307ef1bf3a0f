// SPDX-License-Identifier: Apache-2.0
// Physical memory shared between processes by handles of 64 bits, and those of other servers'
// fabric, which on a plain host carry the same.
#include <unistd.h>

#include <cstring>

#include "context.hpp"
#include "ipc_client.hpp"
#include "soc.hpp"
#include "vmm.hpp"

namespace weft::acl {
namespace {

constexpr size_t kMaxPids = 65535;

struct Fabric {
  char mark[8];
  uint64_t shareable;
  unsigned char zero[112];
};
static_assert(sizeof(Fabric) == sizeof(aclrtMemFabricHandle));
static_assert(sizeof(aclrtPhysicalMemProp) == sizeof(Reply::extra));

constexpr char kMark[8] = {'w', 'e', 'f', 't', '-', 'f', 'a', 'b'};

aclError export_memory(aclrtDrvMemHandle handle, uint64_t flags, const char* where,
                       uint64_t* shareable) {
  if (const aclError error = refuse_after_fork(where)) return error;
  Vmm& all = vmm();
  const std::lock_guard lock(all.mutex);
  aclError error = ACL_SUCCESS;
  const auto it = find_physical(all, handle, where, &error);
  if (error != ACL_SUCCESS) return error;
  Physical& memory = it->second;
  if (memory.imported) {
    return fail(
        ACL_ERROR_RT_PARAM_INVALID,
        "%s: the memory is another process's; only the process that allocated it exports it",
        where);
  }
  if (memory.shareable != 0) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: this process has exported the handle before; keep and share the first result",
                where);
  }
  const bool check_pid = flags != ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION;
  Offer offer{Shared::kPhysical, memory.file, false, check_pid, {}};
  offer.reply.device = device_of(memory);
  offer.reply.size = memory.size;
  std::memcpy(offer.reply.extra.data(), &memory.prop, sizeof memory.prop);
  Key key;
  error = add_export(offer, where, &key);
  if (error != ACL_SUCCESS) return error;
  *shareable = memory.shareable = to_shareable(key);
  return ACL_SUCCESS;
}

aclError check_export(aclrtDrvMemHandle handle, const void* output, uint64_t flags,
                      const char* where) noexcept {
  if (handle == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: handle is NULL", where);
  if (output == nullptr) return null_output(where, "shareableHandle");
  if (flags <= ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: flags 0x%llx must be 0 or 1", where,
              static_cast<unsigned long long>(flags));
}

// A further reference to memory that is imported already; false if it is not.
bool refer_again(Vmm& all, uint64_t shareable, aclrtDrvMemHandle* handle) {
  const auto it = all.imports.find(shareable);
  if (it == all.imports.end()) return false;
  ++all.physicals.at(it->second).references;
  *handle = reinterpret_cast<aclrtDrvMemHandle>(it->second);
  return true;
}

aclError import_memory(uint64_t shareable, int32_t device, const char* where,
                       aclrtDrvMemHandle* handle) {
  if (const aclError error = refuse_after_fork(where)) return error;
  if (heap_of(device, where, ACL_ERROR_RT_DEV_SETUP_ERROR) == nullptr) {
    return ACL_ERROR_RT_DEV_SETUP_ERROR;
  }
  const Key key = from_shareable(shareable);
  if (is_own_key(key)) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: this process has exported the handle; import is for others, here use the "
                "handle of aclrtMallocPhysical",
                where);
  }
  Vmm& all = vmm();
  {
    const std::lock_guard lock(all.mutex);
    if (refer_again(all, shareable, handle)) return ACL_SUCCESS;
  }
  Reply reply;
  Physical memory;
  if (const aclError error = fetch(key, &reply, &memory.file, where)) return error;
  Descriptor received(memory.file);
  memory.size = reply.size;
  memory.imported = true;
  memory.shareable = shareable;
  std::memcpy(&memory.prop, reply.extra.data(), sizeof memory.prop);
  const std::lock_guard lock(all.mutex);
  if (refer_again(all, shareable, handle)) return ACL_SUCCESS;  // another thread was faster
  if (memory.on_device() && reply.device != device) enable_peer(device, reply.device);
  const auto import = all.imports.emplace(shareable, 0).first;
  try {
    *handle = add_physical(all, memory);
  } catch (...) {
    all.imports.erase(import);
    throw;
  }
  import->second = reinterpret_cast<uint64_t>(*handle);
  received.release();
  return ACL_SUCCESS;
}

// The number in a V2 handle of either type.
aclError read_handle(const void* shared, aclrtMemSharedHandleType type, const char* where,
                     uint64_t* shareable) noexcept {
  if (shared == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: shareableHandle is NULL", where);
  }
  if (type == ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT) {
    std::memcpy(shareable, shared, sizeof *shareable);
    return ACL_SUCCESS;
  }
  Fabric fabric;
  std::memcpy(&fabric, shared, sizeof fabric);
  if (std::memcmp(fabric.mark, kMark, sizeof kMark) != 0) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: this is no fabric handle of aclrtMemExportToShareableHandleV2", where);
  }
  *shareable = fabric.shareable;
  return ACL_SUCCESS;
}

aclError check_type(aclrtMemSharedHandleType type, const char* where) noexcept {
  if (type == ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT) return ACL_SUCCESS;
  if (type != ACL_MEM_SHARE_HANDLE_TYPE_FABRIC) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: shareType %d is neither DEFAULT (1) nor FABRIC (2)",
                where, type);
  }
  if (soc_is(kSocA3)) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: %s has no fabric; use the type DEFAULT", where,
              aclrtGetSocName());
}

aclError set_pids(uint64_t shareable, const int32_t* pids, size_t count, const char* where) {
  if (pids == nullptr || count == 0) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: pid must not be NULL and pidNum not 0", where);
  }
  if (count > kMaxPids) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %zu process ids are more than %zu", where, count,
                kMaxPids);
  }
  return allow_import(from_shareable(shareable), pids, count, where);
}

}  // namespace
}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle, aclrtMemHandleType handleType,
                                         uint64_t flags, uint64_t* shareableHandle) {
  constexpr const char* kWhere = "aclrtMemExportToShareableHandle";
  if (handleType != ACL_MEM_HANDLE_TYPE_NONE) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: handleType %d must be NONE (0)", kWhere, handleType);
  }
  if (const aclError error = check_export(handle, shareableHandle, flags, kWhere)) return error;
  return guarded(kWhere, [&] { return export_memory(handle, flags, kWhere, shareableHandle); });
}

aclError aclrtMemExportToShareableHandleV2(aclrtDrvMemHandle handle, uint64_t flags,
                                           aclrtMemSharedHandleType shareType,
                                           void* shareableHandle) {
  constexpr const char* kWhere = "aclrtMemExportToShareableHandleV2";
  if (const aclError error = check_export(handle, shareableHandle, flags, kWhere)) return error;
  if (const aclError error = check_type(shareType, kWhere)) return error;
  return guarded(kWhere, [&]() -> aclError {
    Fabric fabric{};
    std::memcpy(fabric.mark, kMark, sizeof kMark);
    if (const aclError error = export_memory(handle, flags, kWhere, &fabric.shareable)) {
      return error;
    }
    if (shareType == ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT) {
      std::memcpy(shareableHandle, &fabric.shareable, sizeof fabric.shareable);
    } else {
      std::memcpy(shareableHandle, &fabric, sizeof fabric);
    }
    return ACL_SUCCESS;
  });
}

aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t* pid, size_t pidNum) {
  constexpr const char* kWhere = "aclrtMemSetPidToShareableHandle";
  return guarded(kWhere, [&] { return set_pids(shareableHandle, pid, pidNum, kWhere); });
}

aclError aclrtMemSetPidToShareableHandleV2(void* shareableHandle,
                                           aclrtMemSharedHandleType shareType, int32_t* pid,
                                           size_t pidNum) {
  constexpr const char* kWhere = "aclrtMemSetPidToShareableHandleV2";
  uint64_t shareable = 0;
  if (const aclError error = check_type(shareType, kWhere)) return error;
  if (const aclError error = read_handle(shareableHandle, shareType, kWhere, &shareable)) {
    return error;
  }
  return guarded(kWhere, [&] { return set_pids(shareable, pid, pidNum, kWhere); });
}

aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle, int32_t deviceId,
                                           aclrtDrvMemHandle* handle) {
  constexpr const char* kWhere = "aclrtMemImportFromShareableHandle";
  if (handle == nullptr) return null_output(kWhere, "handle");
  if (const aclError error = check_device(deviceId, kWhere)) return error;
  return guarded(kWhere, [&] { return import_memory(shareableHandle, deviceId, kWhere, handle); });
}

aclError aclrtMemImportFromShareableHandleV2(void* shareableHandle,
                                             aclrtMemSharedHandleType shareType, uint64_t flags,
                                             aclrtDrvMemHandle* handle) {
  constexpr const char* kWhere = "aclrtMemImportFromShareableHandleV2";
  if (handle == nullptr) return null_output(kWhere, "handle");
  if (flags != 0) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: flags 0x%llx must be 0", kWhere,
                static_cast<unsigned long long>(flags));
  }
  uint64_t shareable = 0;
  if (const aclError error = check_type(shareType, kWhere)) return error;
  if (const aclError error = read_handle(shareableHandle, shareType, kWhere, &shareable)) {
    return error;
  }
  const Context* context = need_context(kWhere);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  return guarded(kWhere, [&] { return import_memory(shareable, context->device, kWhere, handle); });
}
