// SPDX-License-Identifier: Apache-2.0
// Which addresses of this process may be read and written, as the kernel says: a picture of one
// moment.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace weft::comm {

class Mappings {
 public:
  /// Throws Error (HCCL_E_SYSCALL) if the kernel does not tell.
  static Mappings read();

  enum class Why : uint8_t {
    kNothing,   // no memory
    kReserved,  // addresses only, without access
    kReadOnly
  };
  struct Bad {
    uint64_t address;
    Why why;
  };
  /// The first of these bytes that cannot be read, or written.
  [[nodiscard]] std::optional<Bad> first_bad(uint64_t address, uint64_t bytes, bool written) const;

 private:
  struct Area {
    uint64_t begin;
    uint64_t end;
    bool readable;
    bool writable;
  };
  void add_line(const char* line);

  std::vector<Area> areas_;  // ascending, disjoint
};

}  // namespace weft::comm
