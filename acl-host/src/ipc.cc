// SPDX-License-Identifier: Apache-2.0
// Memory shared by key: the ACL functions, and the importer's side.
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "context.hpp"
#include "ipc_client.hpp"
#include "ipc_server.hpp"
#include "memory.hpp"
#include "vmm.hpp"

namespace weft::acl {
namespace {

/// Mappings of other processes' memory, oldest first, by key.
struct Imports {
  std::mutex mutex;
  std::map<std::string, std::deque<uintptr_t>> by_key;
};

Imports& imports() {
  static auto& all = *new Imports;  // never destroyed: may be used during exit
  return all;
}

/// A new import, which is undone with its scope unless it is kept.
class Import {
 public:
  Import(void* memory, size_t size) : range_{reinterpret_cast<uintptr_t>(memory), size} {}
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;
  ~Import() {
    if (kept_) return;
    Range removed;
    if (registered_) remove_range(range_.base, Place::kImported, &removed);
    munmap(reinterpret_cast<void*>(range_.base), range_.size);
  }
  bool enlist(int32_t device, Range* obstacle) {
    return registered_ = add_range(range_, Place::kImported, device, obstacle);
  }
  void keep(const std::string& key) {
    const std::lock_guard lock(imports().mutex);
    imports().by_key[key].push_back(range_.base);
    kept_ = true;
  }

 private:
  const Range range_;
  bool registered_ = false;
  bool kept_ = false;
};

aclError bad_key(const char* where) noexcept {
  return fail(ACL_ERROR_RT_PARAM_INVALID,
              "%s: the text is no key of aclrtIpcMemGetExportKey; pass all its 65 bytes", where);
}

aclError map_import(const Key& key, const Reply& reply, int file, const char* where,
                    void** mapped) {
  void* memory = map_file(file, reply.offset, reply.size);
  if (memory == nullptr) {
    return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: cannot map %llu bytes of process %u: %s",
                where, static_cast<unsigned long long>(reply.size), key.pid, strerror(errno));
  }
  Import made(memory, reply.size);
  Range obstacle;
  if (!made.enlist(reply.device, &obstacle)) return refuse_stale(obstacle, where);
  made.keep(to_text(key));
  *mapped = memory;
  return ACL_SUCCESS;
}

aclError import(const Key& key, int32_t device, uint64_t flags, const char* where, void** mapped) {
  Reply reply;
  int file = -1;
  if (const aclError error = fetch(key, &reply, &file, where)) return error;
  const Descriptor received(file);
  if (const aclError error = map_import(key, reply, file, where, mapped)) return error;
  if (flags == ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS && reply.device != device) {
    enable_peer(device, reply.device);
  }
  return ACL_SUCCESS;
}

// Unmaps the key's oldest import; false if there is none.
bool close_import(const std::string& key) {
  uintptr_t base = 0;
  {
    const std::lock_guard lock(imports().mutex);
    const auto it = imports().by_key.find(key);
    if (it == imports().by_key.end() || it->second.empty()) return false;
    base = it->second.front();
    it->second.pop_front();
    if (it->second.empty()) imports().by_key.erase(it);
  }
  Range range;
  if (remove_range(base, Place::kImported, &range)) {
    munmap(reinterpret_cast<void*>(range.base), range.size);
  }
  return true;
}

// Fills in the file and the place in it; reports what is not whole pages of device memory.
aclError find_source(void* pointer, size_t size, Offer* offer, const char* where) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const Heap* heap = find_heap(pointer);
  bool good = address % kPage == 0 && size % kPage == 0;
  if (heap != nullptr) {
    good = good && heap->contains(pointer, size);
    offer->file = heap->file();  // heaps are never closed
    offer->reply.device = heap->device();
    offer->reply.offset = address - reinterpret_cast<uintptr_t>(heap->base());
  } else {
    good = good && open_mapping({address, size}, offer);
  }
  offer->reply.size = size;
  if (good) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID,
              "%s: %p with %zu bytes is not made of whole pages of device memory; round both to "
              "multiples of 4096 inside of an allocation or of one mapping",
              where, pointer, size);
}

aclError export_key(void* pointer, size_t size, char* key, uint64_t flags, const char* where) {
  if (const aclError error = refuse_after_fork(where)) return error;
  const bool check_pid = flags != ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION;
  Offer offer{Shared::kMemory, -1, false, check_pid, {}};
  if (const aclError error = find_source(pointer, size, &offer, where)) return error;
  Key made;
  if (const aclError error = add_export(offer, where, &made)) return error;
  std::memcpy(key, to_text(made).c_str(), kKeyBytes);
  return ACL_SUCCESS;
}

}  // namespace
}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtIpcMemGetExportKey(void* devPtr, size_t size, char* key, size_t len, uint64_t flags) {
  constexpr const char* kWhere = "aclrtIpcMemGetExportKey";
  if (devPtr == nullptr || key == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", kWhere,
                devPtr == nullptr ? "devPtr" : "key");
  }
  if (size == 0 || len != kKeyBytes || flags > ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: size %zu must not be 0, len %zu must be 65 and flags 0x%llx must be 0 or 1",
                kWhere, size, len, static_cast<unsigned long long>(flags));
  }
  return guarded(kWhere, [&] { return export_key(devPtr, size, key, flags, kWhere); });
}

aclError aclrtIpcMemSetImportPid(const char* key, int32_t* pid, size_t num) {
  constexpr const char* kWhere = "aclrtIpcMemSetImportPid";
  if (key == nullptr || pid == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", kWhere, key == nullptr ? "key" : "pid");
  }
  if (num == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: num is 0", kWhere);
  Key parsed;
  if (!parse_key(key, Shared::kMemory, &parsed)) return bad_key(kWhere);
  return guarded(kWhere, [&] { return allow_import(parsed, pid, num, kWhere); });
}

aclError aclrtIpcMemImportByKey(void** devPtr, const char* key, uint64_t flags) {
  constexpr const char* kWhere = "aclrtIpcMemImportByKey";
  if (devPtr == nullptr || key == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", kWhere,
                devPtr == nullptr ? "devPtr" : "key");
  }
  Key parsed;
  if (flags > ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: flags 0x%llx must be 0 or 1", kWhere,
                static_cast<unsigned long long>(flags));
  }
  if (!parse_key(key, Shared::kMemory, &parsed)) return bad_key(kWhere);
  const Context* context = need_context(kWhere);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  return guarded(kWhere, [&] { return import(parsed, context->device, flags, kWhere, devPtr); });
}

aclError aclrtIpcMemClose(const char* key) {
  constexpr const char* kWhere = "aclrtIpcMemClose";
  if (key == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: key is NULL", kWhere);
  Key parsed;
  if (!parse_key(key, Shared::kMemory, &parsed)) return bad_key(kWhere);
  return guarded(kWhere, [&]() -> aclError {
    if (close_import(to_text(parsed)) || remove_export(parsed)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: this process has neither imported nor exported the key, or has closed it",
                kWhere);
  });
}

aclError aclrtIpcMemImportPidInterServer(const char* key, aclrtServerPid* serverPids, size_t num) {
  constexpr const char* kWhere = "aclrtIpcMemImportPidInterServer";
  if (key == nullptr || serverPids == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", kWhere,
                key == nullptr ? "key" : "serverPids");
  }
  if (num == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: num is 0", kWhere);
  return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              "%s: a plain host is in no super node; use aclrtIpcMemSetImportPid", kWhere);
}

aclError aclrtIpcMemSetAttr(const char* key, aclrtIpcMemAttrType type, uint64_t attr) {
  constexpr const char* kWhere = "aclrtIpcMemSetAttr";
  if (key == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: key is NULL", kWhere);
  if (type != ACL_RT_IPC_MEM_ATTR_ACCESS_LINK) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: attribute %d does not exist", kWhere, type);
  }
  Key parsed;
  if (!parse_key(key, Shared::kMemory, &parsed)) return bad_key(kWhere);
  if (attr > ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_HCCS) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: link %llu is neither SIO (0) nor HCCS (1)", kWhere,
                static_cast<unsigned long long>(attr));
  }
  return guarded(kWhere, [&]() -> aclError {
    if (has_export(parsed)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: this process has not exported the key, or has closed it", kWhere);
  });
}
