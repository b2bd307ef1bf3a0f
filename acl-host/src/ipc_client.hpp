// SPDX-License-Identifier: Apache-2.0
// The importer's side of what processes share: asks an exporter for a file.
#pragma once

#include <unistd.h>

#include "acl/acl.h"
#include "ipc_server.hpp"

namespace weft::acl {

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
  void release() noexcept { value_ = -1; }

 private:
  int value_;
};

/// Asks the exporter behind the key, which may be this process, for at most some seconds. Reports
/// failures; on success `file` is open and belongs to the caller.
aclError fetch(const Key& key, Reply* reply, int* file, const char* where);

/// Whether the process whose socket has this name lives, see serve_importers(). True if that cannot
/// be told. Does not wait.
bool is_served(uint32_t name) noexcept;

}  // namespace weft::acl
