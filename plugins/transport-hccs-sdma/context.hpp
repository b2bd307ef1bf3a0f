// SPDX-License-Identifier: Apache-2.0
// State of this plugin in one process: the host's services, this process's identity, and what was
// imported from others.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "weft/host.h"
#include "weft/transport.h"

namespace weft::hccs {

/// What a rank of the direct engine tells its peers. Plain bytes: it travels between processes of
/// one host.
struct Blob {
  uint64_t host;       // hash of the host's boot id: equal on one host only
  uint64_t process;    // random: equal in one process only
  uint64_t heap_base;  // device memory of the rank, as addressed there
  uint64_t heap_size;
  char key[65];  // opens the heap in another process
};
static_assert(sizeof(Blob) <= WEFT_BLOB_BYTES);

/// Heaps of other processes that are mapped here, shared by all communicators.
class Imports {
 public:
  /// Maps the heap of `key`, or counts one more user. 0 or an aclError.
  int32_t open(const std::string& key, void** base);
  void close(const std::string& key);

 private:
  struct Entry {
    void* base = nullptr;
    uint32_t users = 0;
  };
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

struct Context {
  const weft_host* host = nullptr;
  uint64_t host_id = 0;
  uint64_t process_id = 0;
  Imports imports;
  std::mutex exports_mutex;
  std::map<int32_t, std::string> exports;  // key of the heap, by device

  /// Gives `text` to the core as the reason of `code` and returns `code`.
  int32_t fail(int32_t code, const std::string& text) const;
  /// The same for a failed ACL call, with its number and text.
  int32_t fail_acl(int32_t acl_error, const std::string& what) const;
};

/// weft_transport.open.
int32_t open_context(const weft_host* host, void** context);

/// weft_transport.look_up for a rank whose device has its memory at [heap, heap + bytes).
int32_t look_up(const void* heap, uint64_t bytes, const void* address,
                weft_address* place) noexcept;

/// The table of functions, filled.
weft_transport transport_table() noexcept;

}  // namespace weft::hccs
