// SPDX-License-Identifier: Apache-2.0
// The kinds of memory that a bench can use, each made the way a client has to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "acl/acl.h"
#include "hccl/hccl_types.h"

namespace weft::tools {

enum class MemoryKind : uint8_t {
  kHeap,      // aclrtMalloc
  kSymWin,    // mapped physical memory in a symmetric window
  kZeroCopy,  // active memory of a zero-copy range
  kMalloc
};
inline constexpr std::string_view kMemoryNames[] = {"heap", "symwin", "zerocopy", "malloc"};

/// The text is what failed; must not return.
using Fail = std::function<void(const char* function, int code)>;

/// One block on the current device, or from malloc, aligned to 4096.
class Memory {
 public:
  /// Collective over the ranks of `comm` for windows and ranges, with the same `bytes` everywhere.
  /// Ends through `fail` if there is no memory. 0 bytes: data() is nullptr.
  Memory(MemoryKind kind, size_t bytes, HcclComm comm, const Fail& fail);
  /// `comm` must still live, and no call use the memory.
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void need(const char* function, int code) const {
    if (code != 0) fail_(function, code);
  }
  void map();
  void unmap();

  const MemoryKind kind_;
  size_t bytes_;
  const HcclComm comm_;
  const Fail& fail_;
  void* data_ = nullptr;
  aclrtDrvMemHandle physical_ = nullptr;
  HcclCommSymWindow window_ = nullptr;
};

}  // namespace weft::tools
