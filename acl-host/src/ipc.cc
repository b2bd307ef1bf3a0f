// SPDX-License-Identifier: Apache-2.0
// Memory shared by key: the ACL functions, and the importer's side.
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "context.hpp"
#include "ipc_server.hpp"
#include "memory.hpp"

namespace weft::acl {
namespace {

constexpr time_t kWaitSeconds = 5;  // for the exporter, at each step

/// Mappings of other processes' memory, oldest first, by key.
struct Imports {
  std::mutex mutex;
  std::map<std::string, std::deque<uintptr_t>> by_key;
};

Imports& imports() {
  static auto& all = *new Imports;  // never destroyed: may be used during exit
  return all;
}

/// A descriptor that is closed with its scope.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  int get() const noexcept { return value_; }

 private:
  const int value_;
};

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

// Repeats a system call that a signal has interrupted.
template <class Call>
ssize_t uninterrupted(Call&& call) noexcept {
  ssize_t result = -1;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

bool connect_to(int socket, const std::string& name) noexcept {
  const timeval limit{kWaitSeconds, 0};
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const auto* target = reinterpret_cast<sockaddr*>(&address);
  return uninterrupted([&] { return connect(socket, target, length); }) == 0;
}

// Only if true is `file` open.
bool receive(int socket, Reply* reply, int* file) noexcept {
  iovec data{reply, sizeof *reply};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_LEN(sizeof(int));  // without padding: room for one descriptor
  const ssize_t got = uninterrupted([&] { return recvmsg(socket, &message, MSG_CMSG_CLOEXEC); });
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    std::memcpy(file, CMSG_DATA(header), sizeof *file);
  }
  if (got == static_cast<ssize_t>(sizeof *reply)) return true;
  if (*file >= 0) close(*file);
  *file = -1;
  if (got >= 0) errno = got == 0 ? ECONNRESET : EPROTO;  // closed without an answer, or nonsense
  return false;
}

// Asks the exporter. On success `file` is open and belongs to the caller.
aclError ask(const Key& key, Reply* reply, int* file, const char* where) {
  const Descriptor connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const Request request{kRequestMagic, 0, key.id};
  if (connection.get() < 0 || !connect_to(connection.get(), socket_name(key)) ||
      uninterrupted([&] {
        return send(connection.get(), &request, sizeof request, MSG_NOSIGNAL);
      }) != sizeof request ||
      !receive(connection.get(), reply, file)) {
    return fail(ACL_ERROR_RT_IPC_ERROR,
                "%s: process %u does not answer (%s); it must live until the key is imported",
                where, key.pid, strerror(errno));
  }
  return ACL_SUCCESS;
}

aclError explain_refusal(const Reply& reply, const Key& key, const char* where) noexcept {
  if (reply.code == ACL_ERROR_RT_NO_PERMISSION) {
    return fail(reply.code,
                "%s: process %u has not allowed process %d to import the key; it must call "
                "aclrtIpcMemSetImportPid or export without validation",
                where, key.pid, getpid());
  }
  return fail(reply.code, "%s: process %u has closed the key, or never made it", where, key.pid);
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
  Reply reply{};
  int file = -1;
  const bool own = is_own_key(key);
  if (own) {
    reply = answer(key.id, nullptr, &file);
  } else if (const aclError error = ask(key, &reply, &file, where)) {
    return error;
  }
  const Descriptor received(own ? -1 : file);
  if (reply.code != ACL_SUCCESS) return explain_refusal(reply, key, where);
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

aclError export_key(void* pointer, size_t size, char* key, uint64_t flags, const char* where) {
  if (const aclError error = refuse_after_fork(where)) return error;
  Heap* heap = find_heap(pointer);
  const size_t offset = heap == nullptr ? 0
                                        : reinterpret_cast<uintptr_t>(pointer) -
                                              reinterpret_cast<uintptr_t>(heap->base());
  if (heap == nullptr || offset % kPage != 0 || size % kPage != 0 ||
      !heap->contains(pointer, size)) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: %p with %zu bytes is not made of whole pages of device memory; round both to "
                "multiples of 4096 inside of an allocation",
                where, pointer, size);
  }
  Key made;
  const bool check_pid = flags != ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION;
  if (const aclError error = add_export(*heap, offset, size, check_pid, where, &made)) return error;
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
  if (!parse_key(key, &parsed)) return bad_key(kWhere);
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
  if (!parse_key(key, &parsed)) return bad_key(kWhere);
  const Context* context = need_context(kWhere);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  return guarded(kWhere, [&] { return import(parsed, context->device, flags, kWhere, devPtr); });
}

aclError aclrtIpcMemClose(const char* key) {
  constexpr const char* kWhere = "aclrtIpcMemClose";
  if (key == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: key is NULL", kWhere);
  Key parsed;
  if (!parse_key(key, &parsed)) return bad_key(kWhere);
  return guarded(kWhere, [&]() -> aclError {
    if (close_import(to_text(parsed)) || remove_export(parsed)) return ACL_SUCCESS;
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: this process has neither imported nor exported the key, or has closed it",
                kWhere);
  });
}
