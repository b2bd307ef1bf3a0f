// SPDX-License-Identifier: Apache-2.0
#include "span.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "acl/acl.h"
#include "fault.hpp"

namespace weft::symwin {
namespace {

constexpr const char* kAdvice =
    "register memory that aclrtReserveMemAddress, aclrtMallocPhysical and aclrtMapMem made";

uint64_t unit_of(aclrtDrvMemHandle handle) {
  aclrtPhysicalMemProp prop{};
  aclError error = aclrtMemGetAllocationPropertiesFromHandle(handle, &prop);
  size_t unit = 0;
  if (error == ACL_SUCCESS) {
    prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
    error = aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &unit);
  }
  if (error != ACL_SUCCESS) throw acl_fault(error, "the properties of the memory are not known");
  return unit;
}

/// The piece that contains the address, with a reference; false if nothing is mapped there.
bool find_piece(uint64_t address, Piece* piece) {
  void* base = nullptr;
  size_t bytes = 0;
  if (aclrtMemGetAddressRange(reinterpret_cast<void*>(address), &base, &bytes) != ACL_SUCCESS) {
    return false;
  }
  if (aclrtMemRetainAllocationHandle(base, &piece->handle) != ACL_SUCCESS) return false;
  piece->address = reinterpret_cast<uint64_t>(base);
  piece->bytes = bytes;
  return true;
}

}  // namespace

// Delegates, so that the destructor gives back what a failing construction holds.
Span::Span(uint64_t address, uint64_t bytes) : Span() {
  const uint64_t end = address + bytes;
  if (end < address) {
    throw Fault(WEFT_E_PARA,
                fmt::format("{} bytes at {:#x} are beyond the end of all memory", bytes, address));
  }
  for (uint64_t at = address; at < end; at = this->end()) {
    pieces_.emplace_back();
    if (find_piece(at, &pieces_.back())) continue;
    pieces_.pop_back();
    std::string text = fmt::format("no physical memory is mapped at {:#x}", address);
    if (at != address) {
      text = fmt::format("{} bytes at {:#x} go {} beyond the mapped memory, which ends at {:#x}",
                         bytes, address, end - at, at);
    }
    throw Fault(WEFT_E_PARA, text + "; " + kAdvice);
  }
  for (Piece& piece : pieces_) piece.unit = unit_of(piece.handle);
}

Span::~Span() {
  for (const Piece& piece : pieces_) aclrtFreePhysical(piece.handle);
}

uint64_t Span::unit() const {
  uint64_t unit = 1;
  for (const Piece& piece : pieces_) unit = std::max(unit, piece.unit);
  return unit;
}

bool Span::has_pieces_of(const Span& part) const {
  return std::includes(pieces_.begin(), pieces_.end(), part.pieces_.begin(), part.pieces_.end(),
                       [](const Piece& a, const Piece& b) {
                         return a.address != b.address ? a.address < b.address
                                                       : a.handle < b.handle;
                       });
}

}  // namespace weft::symwin
