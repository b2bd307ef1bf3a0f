// SPDX-License-Identifier: Apache-2.0
// The exporter's side of what processes share: a table of exports, and a thread that hands files
// to importers over an abstract Unix socket. The kernel removes both with the process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "acl/acl.h"

namespace weft::acl {

constexpr size_t kKeyBytes = 65;  // with the NUL

/// What an export is; an importer asks for one kind and never gets another.
enum class Shared : uint32_t {
  kMemory = 1,    ///< a part of device memory, by key
  kNotify = 2,    ///< a notify, by key
  kPhysical = 3,  ///< physical memory, by a shareable handle of 64 bits
  kEvent = 4,     ///< an event, by key
};

/// What a key says: whose export it is, and which. The upper half of token[0] names the socket;
/// the rest of the token is in keys only, and 0 in a key made of a shareable handle.
struct Key {
  Shared kind = Shared::kMemory;
  uint32_t pid = 0;  // 0: unknown
  std::array<uint64_t, 2> token{};
  uint64_t id = 0;
};

std::string to_text(const Key& key);

/// False if the text, of at most kKeyBytes bytes, is no key of that kind.
bool parse_key(const char* text, Shared kind, Key* key) noexcept;

/// Shareable handles: the socket's name and the id, 32 bits each.
uint64_t to_shareable(const Key& key) noexcept;
Key from_shareable(uint64_t handle) noexcept;

/// Name of the exporter's socket, without the leading NUL of abstract names.
std::string socket_name(const Key& key);

/// The importer's question and the exporter's answer, one packet each.
struct Request {
  uint32_t magic;
  Shared kind;
  std::array<uint64_t, 2> token;
  uint64_t id;
};
struct Reply {
  int32_t code = 0;    // ACL_SUCCESS: a file comes along
  int32_t device = 0;  // of the exporter; -1: none
  uint64_t offset = 0;
  uint64_t size = 0;
  std::array<uint64_t, 4> extra{};  // what the kind needs besides
};
constexpr uint32_t kRequestMagic = 0x77656675;

/// What is exported. The file stays the caller's and open until `remove_export`, unless `owned`.
struct Offer {
  Shared kind;
  int file;
  bool owned;  // closed when the export is removed
  bool check_pid;
  Reply reply;
};

/// Starts the thread, if there is none yet, and gives the name of this process's socket, the 32
/// bits of keys.
aclError serve_importers(const char* where, uint32_t* name);

/// Registers an export, starting the thread with the first one. Reports failures; then an owned
/// file is closed.
aclError add_export(const Offer& offer, const char* where, Key* key);

/// Allows processes to import. Reports an unknown key, and a shareable handle that anybody may
/// import.
aclError allow_import(const Key& key, const int32_t* pids, size_t count, const char* where);

/// Whether this process has such an export.
bool has_export(const Key& key);

/// False if this process has no such export.
bool remove_export(const Key& key);

/// The answer to an importer, and a descriptor of the file to go with it, which becomes the
/// caller's (-1 on failure). `importer_pid` is NULL for this process itself, which needs no
/// permission.
Reply answer(const Request& request, const int32_t* importer_pid, int* file);

/// In a forked child: gives up the listening socket of the parent, which would otherwise look alive
/// to importers for as long as the child lives. Takes no lock.
void close_listener() noexcept;

/// Whether the key is of this process.
bool is_own_key(const Key& key);

}  // namespace weft::acl
