// SPDX-License-Identifier: Apache-2.0
// Memory of the program: the pieces of physical memory that are mapped side by side at its
// addresses.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "acl/acl_rt.h"

namespace weft::symwin {

/// One mapping of physical memory, as a whole.
struct Piece {
  uint64_t address = 0;
  uint64_t bytes = 0;
  aclrtDrvMemHandle handle = nullptr;
  uint64_t unit = 0;  // what addresses of its mappings are multiples of
};

/// The whole pieces that [address, address + bytes) lies in. Holds one reference to the physical
/// memory of each, so that a handle stays good until the end of the span.
class Span {
 public:
  /// Throws Fault (WEFT_E_PARA) if the memory is not mapped, or not to its end.
  Span(uint64_t address, uint64_t bytes);
  ~Span();
  Span(Span&& other) noexcept : pieces_(std::exchange(other.pieces_, {})) {}
  Span& operator=(Span&&) = delete;

  const std::vector<Piece>& pieces() const { return pieces_; }
  uint64_t base() const { return pieces_.front().address; }
  uint64_t end() const { return pieces_.back().address + pieces_.back().bytes; }
  uint64_t bytes() const { return end() - base(); }
  /// The largest unit of a piece.
  uint64_t unit() const;

  /// Whether [address, end_address) lies in it.
  bool covers(uint64_t address, uint64_t end_address) const {
    return base() <= address && end_address <= end();
  }
  bool overlaps(uint64_t address, uint64_t end_address) const {
    return base() < end_address && address < end();
  }
  /// Whether all pieces of `part` are pieces of this one, too, at the same addresses.
  bool has_pieces_of(const Span& part) const;

 private:
  Span() = default;

  std::vector<Piece> pieces_;
};

}  // namespace weft::symwin
