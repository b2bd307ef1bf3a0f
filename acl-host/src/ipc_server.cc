// SPDX-License-Identifier: Apache-2.0
// Table of exports and the thread that answers importers.
#include "ipc_server.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

#include "error.hpp"
#include "heap.hpp"

namespace weft::acl {
namespace {

constexpr uint64_t kNameMask = 0xFFFFFFFF00000000;  // of token[0]: what names the socket
constexpr int kNameTries = 16;                      // of 32 random bits
constexpr int kRequestMs = 1000;  // an importer sends its question with the connection
constexpr int kPauseMs = 10;      // after a failed accept, say for want of descriptors

struct Export {
  Offer offer;
  std::set<int32_t> pids;
};

struct Exporter {
  std::mutex mutex;
  uint32_t pid = 0;  // of the process the thread runs in; another one after a fork
  std::atomic<int> listener{-1};
  std::array<uint64_t, 2> token{};
  std::map<uint64_t, Export> exports;
};

Exporter& exporter() {
  static auto& one = *new Exporter;  // never destroyed: its thread runs during exit
  return one;
}

void send_reply(int connection, const Reply& reply, int file) noexcept {
  iovec data{const_cast<Reply*>(&reply), sizeof reply};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (file >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
  }
  sendmsg(connection, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void serve(int connection) {
  pollfd ready{connection, POLLIN, 0};
  if (poll(&ready, 1, kRequestMs) != 1) return;
  Request request{};
  if (recv(connection, &request, sizeof request, MSG_DONTWAIT) != sizeof request ||
      request.magic != kRequestMagic) {
    return;
  }
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return;
  int file = -1;
  const Reply reply = answer(request, &peer.pid, &file);
  send_reply(connection, reply, file);
  if (file >= 0) close(file);
}

void* run(void* argument) noexcept {
  const int listener = static_cast<int>(reinterpret_cast<intptr_t>(argument));
  pthread_setname_np(pthread_self(), "weft-acl-ipc");
  for (;;) {
    const int connection = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) {
      if (errno != EINTR && errno != ECONNABORTED) poll(nullptr, 0, kPauseMs);
      continue;
    }
    serve(connection);
    close(connection);
  }
}

int listen_at(const std::string& name) noexcept {
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (listener < 0) return -1;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), length) == 0 &&
      listen(listener, SOMAXCONN) == 0) {
    return listener;
  }
  close(listener);
  return -1;
}

// The application's signals are not for this thread. Returns an error number, 0 for none.
int start_thread(int listener) noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_t thread;
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error =
      pthread_create(&thread, nullptr, run, reinterpret_cast<void*>(intptr_t{listener}));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == 0) pthread_detach(thread);
  return error;
}

bool draw(void* bytes, size_t size) noexcept {
  return getrandom(bytes, size, 0) == static_cast<ssize_t>(size);
}

// Starts the thread if this process has none. The caller holds the lock.
aclError start(Exporter& all, const char* where) {
  const auto pid = static_cast<uint32_t>(getpid());
  if (all.pid == pid) return ACL_SUCCESS;
  int listener = -1;
  for (int tries = 0; listener < 0 && tries < kNameTries; ++tries) {
    if (!draw(all.token.data(), sizeof all.token)) {
      return fail(ACL_ERROR_RT_IPC_ERROR, "%s: no random numbers for a key", where);
    }
    listener = listen_at(socket_name({Shared::kMemory, pid, all.token, 0}));
    const bool again = errno == EADDRINUSE || (errno == EMFILE && raise_file_limit());
    if (listener < 0 && !again) break;
  }
  if (listener < 0) {
    return fail(ACL_ERROR_RT_IPC_ERROR, "%s: cannot serve importers: %s", where,
                explain_errno(errno).c_str());
  }
  if (const int error = start_thread(listener)) {
    close(listener);
    return fail(ACL_ERROR_RT_IPC_ERROR, "%s: cannot start a thread that serves importers: %s",
                where, explain_no_thread(error).c_str());
  }
  all.listener = listener;
  all.pid = pid;
  return ACL_SUCCESS;
}

// An unused id that cannot be guessed; 0 without random numbers.
uint64_t draw_id(const Exporter& all, Shared kind) noexcept {
  uint64_t id = 0;
  do {
    if (!draw(&id, sizeof id)) return 0;
    if (kind == Shared::kPhysical) id &= ~kNameMask;
  } while (id == 0 || all.exports.contains(id));
  return id;
}

const char* prefix_of(Shared kind) noexcept {
  if (kind == Shared::kEvent) return "wefte-";
  return kind == Shared::kNotify ? "weftn-" : "weftm-";
}

bool matches(const Key& key, const Exporter& all) noexcept {
  if (key.kind == Shared::kPhysical) return key.token[0] == (all.token[0] & kNameMask);
  return key.token == all.token;
}

template <class T>
bool parse_hex(std::string_view text, T* value) noexcept {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *value, 16);
  return error == std::errc{} && rest == end;
}

}  // namespace

std::string to_text(const Key& key) {
  char text[kKeyBytes];
  std::snprintf(text, sizeof text, "%s%08x-%016llx%016llx-%016llx", prefix_of(key.kind), key.pid,
                static_cast<unsigned long long>(key.token[0]),
                static_cast<unsigned long long>(key.token[1]),
                static_cast<unsigned long long>(key.id));
  return text;
}

bool parse_key(const char* text, Shared kind, Key* key) noexcept {
  const std::string_view view(text, strnlen(text, kKeyBytes));
  const std::string_view prefix = prefix_of(kind);
  const size_t start = prefix.size();
  key->kind = kind;
  return view.size() == kKeyBytes - 1 && view.starts_with(prefix) &&
         parse_hex(view.substr(start, 8), &key->pid) && view[start + 8] == '-' &&
         parse_hex(view.substr(start + 9, 16), &key->token[0]) &&
         parse_hex(view.substr(start + 25, 16), &key->token[1]) && view[start + 41] == '-' &&
         parse_hex(view.substr(start + 42, 16), &key->id);
}

uint64_t to_shareable(const Key& key) noexcept { return (key.token[0] & kNameMask) | key.id; }

Key from_shareable(uint64_t handle) noexcept {
  return {Shared::kPhysical, 0, {handle & kNameMask, 0}, handle & ~kNameMask};
}

std::string socket_name(const Key& key) {
  char name[32];
  std::snprintf(name, sizeof name, "weft-acl-%08x", static_cast<uint32_t>(key.token[0] >> 32));
  return name;
}

aclError serve_importers(const char* where, uint32_t* name) {
  Exporter& all = exporter();
  const std::lock_guard lock(all.mutex);
  const aclError error = start(all, where);
  *name = static_cast<uint32_t>(all.token[0] >> 32);
  return error;
}

aclError add_export(const Offer& offer, const char* where, Key* key) {
  Exporter& all = exporter();
  const std::lock_guard lock(all.mutex);
  aclError error = start(all, where);
  const uint64_t id = error == ACL_SUCCESS ? draw_id(all, offer.kind) : 0;
  if (error == ACL_SUCCESS && id == 0) {
    error = fail(ACL_ERROR_RT_IPC_ERROR, "%s: no random numbers for a key", where);
  }
  if (error != ACL_SUCCESS) {
    if (offer.owned) close(offer.file);
    return error;
  }
  all.exports.emplace(id, Export{offer, {}});
  *key = {offer.kind, all.pid, all.token, id};
  if (offer.kind == Shared::kPhysical) *key = from_shareable(to_shareable(*key));
  return ACL_SUCCESS;
}

aclError allow_import(const Key& key, const int32_t* pids, size_t count, const char* where) {
  const bool own = is_own_key(key);
  Exporter& all = exporter();
  const std::lock_guard lock(all.mutex);
  const auto it = all.exports.find(key.id);
  if (!own || it == all.exports.end() || it->second.offer.kind != key.kind) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: this process has not exported it, or has closed or freed it", where);
  }
  if (key.kind == Shared::kPhysical && !it->second.offer.check_pid) {
    return fail(ACL_ERROR_RT_NO_PERMISSION,
                "%s: the handle was exported without validation of process ids: any process may "
                "import it; export with flags 0 to have a white list",
                where);
  }
  it->second.pids.insert(pids, pids + count);
  return ACL_SUCCESS;
}

bool has_export(const Key& key) {
  const bool own = is_own_key(key);
  Exporter& all = exporter();
  const std::lock_guard lock(all.mutex);
  const auto it = all.exports.find(key.id);
  return own && it != all.exports.end() && it->second.offer.kind == key.kind;
}

bool remove_export(const Key& key) {
  const bool own = is_own_key(key);
  Exporter& all = exporter();
  const std::lock_guard lock(all.mutex);
  const auto it = all.exports.find(key.id);
  if (!own || it == all.exports.end() || it->second.offer.kind != key.kind) return false;
  if (it->second.offer.owned) close(it->second.offer.file);
  all.exports.erase(it);
  return true;
}

Reply answer(const Request& request, const int32_t* importer_pid, int* file) {
  const Key key{request.kind, 0, request.token, request.id};
  Exporter& all = exporter();
  const std::lock_guard lock(all.mutex);
  *file = -1;
  Reply reply;
  reply.code = ACL_ERROR_RT_PARAM_INVALID;
  const auto it = all.exports.find(key.id);
  if (it == all.exports.end() || it->second.offer.kind != key.kind || !matches(key, all)) {
    return reply;
  }
  const Export& found = it->second;
  reply.code = ACL_ERROR_RT_NO_PERMISSION;
  if (importer_pid != nullptr && found.offer.check_pid && !found.pids.contains(*importer_pid)) {
    return reply;
  }
  const auto copy = [&] { return fcntl(found.offer.file, F_DUPFD_CLOEXEC, 0); };
  *file = copy();
  if (*file < 0 && raise_file_limit()) *file = copy();
  reply.code = ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
  return *file < 0 ? reply : found.offer.reply;
}

void close_listener() noexcept {
  const int listener = exporter().listener.exchange(-1);
  if (listener >= 0) close(listener);
}

bool is_own_key(const Key& key) {
  Exporter& all = exporter();
  const std::lock_guard lock(all.mutex);
  const auto pid = static_cast<uint32_t>(getpid());
  return all.pid == pid && (key.pid == 0 || key.pid == pid) && matches(key, all);
}

}  // namespace weft::acl
