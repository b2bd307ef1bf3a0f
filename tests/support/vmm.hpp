// SPDX-License-Identifier: Apache-2.0
// Memory that a program makes of its own: reserved addresses, physical memory, and one mapped at
// the other. All of it is of the calling thread's current device. Constructors and named functions
// fail the rank on an error; destructors give back what is left and are silent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "acl/acl.h"

namespace weft::test {

constexpr size_t kPhysicalUnit = 2U << 20;  // of physical memory and of mappings

/// Addresses with nothing behind them.
class Reserved {
 public:
  explicit Reserved(size_t bytes);
  ~Reserved();
  Reserved(const Reserved&) = delete;
  Reserved& operator=(const Reserved&) = delete;

  unsigned char* base() const { return static_cast<unsigned char*>(base_); }
  size_t size() const { return size_; }
  /// Nothing may be mapped there any more.
  void release();

 private:
  void* base_ = nullptr;
  size_t size_ = 0;
};

/// Physical memory: one reference to it.
class Physical {
 public:
  explicit Physical(size_t bytes);
  ~Physical();
  Physical(Physical&& other) noexcept;
  Physical& operator=(Physical&&) = delete;

  aclrtDrvMemHandle handle() const { return handle_; }
  size_t size() const { return size_; }
  void map(void* address) const;
  void free();

 private:
  aclrtDrvMemHandle handle_ = nullptr;
  size_t size_ = 0;
};

/// Addresses with pieces of physical memory mapped side by side from their begin.
class Mapped {
 public:
  explicit Mapped(size_t bytes) : Mapped(std::vector<size_t>{bytes}) {}
  explicit Mapped(const std::vector<size_t>& pieces);
  ~Mapped();
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  unsigned char* data() const { return addresses_.base(); }
  size_t size() const { return addresses_.size(); }
  aclrtDrvMemHandle handle(size_t piece = 0) const { return pieces_.at(piece).handle(); }
  /// Unmaps and frees all, and releases the addresses.
  void free();

 private:
  Reserved addresses_;
  std::vector<Physical> pieces_;
  std::vector<void*> mapped_;
};

/// Bytes free on the current device.
size_t free_memory();

/// Bytes of addresses this process has taken, reserved ones included.
size_t address_space();

}  // namespace weft::test
