// SPDX-License-Identifier: Apache-2.0
// The exporter's side of memory shared by key: a table of exports, and a thread that hands the
// memory file to importers over an abstract Unix socket. The kernel removes both with the process.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "acl/acl.h"
#include "heap.hpp"

namespace weft::acl {

constexpr size_t kKeyBytes = 65;  // with the NUL

/// What a key says: whose export it is, and which.
struct Key {
  uint32_t pid = 0;
  std::array<uint64_t, 2> token{};  // random; only holders of a key can name the socket
  uint64_t id = 0;
};

std::string to_text(const Key& key);

/// False if the text, of at most kKeyBytes bytes, is no key.
bool parse_key(const char* text, Key* key) noexcept;

/// Name of the exporter's socket, without the leading NUL of abstract names.
std::string socket_name(const Key& key);

/// The importer's question and the exporter's answer, one packet each.
struct Request {
  uint32_t magic;
  uint32_t unused;
  uint64_t id;
};
struct Reply {
  int32_t code;  // ACL_SUCCESS: a memory file comes along
  int32_t device;
  uint64_t offset;
  uint64_t size;
};
constexpr uint32_t kRequestMagic = 0x77656674;

/// Registers a part of a heap, starting the thread with the first one. Reports failures.
aclError add_export(Heap& heap, size_t offset, size_t size, bool check_pid, const char* where,
                    Key* key);

/// Allows processes to import. Reports an unknown key.
aclError allow_import(const Key& key, const int32_t* pids, size_t count, const char* where);

/// False if this process has no such export.
bool remove_export(const Key& key);

/// The answer to an importer, and the file to go with it (-1 on failure). `importer_pid` is NULL
/// for this process itself, which needs no permission.
Reply answer(uint64_t id, const int32_t* importer_pid, int* file);

/// In a forked child: gives up the listening socket of the parent, which would otherwise look alive
/// to importers for as long as the child lives. Takes no lock.
void close_listener() noexcept;

/// Whether the key is of this process.
bool is_own_key(const Key& key);

}  // namespace weft::acl
