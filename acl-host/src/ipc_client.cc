// SPDX-License-Identifier: Apache-2.0
// Asking exporters over their sockets, with a limit on every wait.
#include "ipc_client.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "error.hpp"
#include "heap.hpp"

namespace weft::acl {
namespace {

constexpr time_t kWaitSeconds = 5;  // for the exporter, at each step

std::string exporter_of(const Key& key) {
  return key.pid == 0 ? "the exporting process" : "process " + std::to_string(key.pid);
}

Request request_for(const Key& key) noexcept {
  return {kRequestMagic, key.kind, key.token, key.id};
}

const char* way_to_allow(Shared kind) noexcept {
  switch (kind) {
    case Shared::kMemory:
      return "aclrtIpcMemSetImportPid";
    case Shared::kNotify:
      return "aclrtNotifySetImportPid";
    case Shared::kPhysical:
    case Shared::kEvent:  // anybody may open it
      break;
  }
  return "aclrtMemSetPidToShareableHandle";
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
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const auto* target = reinterpret_cast<sockaddr*>(&address);
  return uninterrupted([&] { return connect(socket, target, length); }) == 0;
}

void limit_waits(int socket) noexcept {
  const timeval limit{kWaitSeconds, 0};
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
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
  const auto open = [] { return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0); };
  const int first = open();
  const Descriptor connection(first < 0 && errno == EMFILE && raise_file_limit() ? open() : first);
  if (connection.get() < 0) {
    return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: no socket to ask %s: %s", where,
                exporter_of(key).c_str(), explain_errno(errno).c_str());
  }
  const Request request = request_for(key);
  limit_waits(connection.get());
  if (!connect_to(connection.get(), socket_name(key)) ||
      uninterrupted([&] {
        return send(connection.get(), &request, sizeof request, MSG_NOSIGNAL);
      }) != sizeof request ||
      !receive(connection.get(), reply, file)) {
    return fail(ACL_ERROR_RT_IPC_ERROR,
                "%s: %s does not answer (%s); it must live until its export is imported", where,
                exporter_of(key).c_str(), strerror(errno));
  }
  return ACL_SUCCESS;
}

aclError explain_refusal(const Reply& reply, const Key& key, const char* where) {
  const std::string exporter = exporter_of(key);
  if (reply.code == ACL_ERROR_RT_NO_PERMISSION) {
    return fail(reply.code,
                "%s: %s has not allowed process %d to import it; it must call %s or export without "
                "validation",
                where, exporter.c_str(), getpid(), way_to_allow(key.kind));
  }
  if (reply.code == ACL_ERROR_RT_RESOURCE_ALLOC_FAIL) {
    return fail(reply.code, "%s: %s has no descriptor left; raise its `ulimit -n`", where,
                exporter.c_str());
  }
  return fail(reply.code, "%s: %s has closed the key or freed what it exported, or never made it",
              where, exporter.c_str());
}

}  // namespace

bool is_served(uint32_t name) noexcept {
  const Descriptor probe(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (probe.get() < 0) return true;
  const Key key{Shared::kEvent, 0, {uint64_t{name} << 32, 0}, 0};
  return connect_to(probe.get(), socket_name(key)) || errno != ECONNREFUSED;
}

aclError fetch(const Key& key, Reply* reply, int* file, const char* where) {
  *file = -1;
  if (is_own_key(key)) {
    *reply = answer(request_for(key), nullptr, file);
  } else if (const aclError error = ask(key, reply, file, where)) {
    return error;
  } else if (reply->code == ACL_SUCCESS && *file < 0 && raise_file_limit()) {
    // The answer had its file, for which there was no descriptor.
    if (const aclError again = ask(key, reply, file, where)) return again;
  }
  if (reply->code != ACL_SUCCESS) return explain_refusal(*reply, key, where);
  if (*file >= 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL,
              "%s: this process has no descriptor left for the file of %s; raise `ulimit -n`",
              where, exporter_of(key).c_str());
}

}  // namespace weft::acl
