// SPDX-License-Identifier: Apache-2.0
// What this plugin needs of the ACL runtime, with errors as exceptions: reservations, and mappings
// of physical memory.
#pragma once

#include <cstdint>
#include <memory>

#include "memory-common/fault.hpp"
#include "span.hpp"

namespace weft::zerocopy {

using memory::demand;
using memory::demand_acl;
using memory::Fault;
using memory::guarded;

/// Reserved addresses, released with the last mapping in them.
class Reservation {
 public:
  /// Flags are those of aclrtReserveMemAddress.
  Reservation(uint64_t bytes, uint64_t flags);
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  uint64_t base() const { return reinterpret_cast<uint64_t>(base_); }

 private:
  void* base_ = nullptr;
};

/// Physical memory of another process, mapped here.
class Import {
 public:
  Import(std::shared_ptr<Reservation> room, uint64_t offset, uint64_t bytes, uint64_t shareable,
         int32_t device);
  ~Import();
  Import(const Import&) = delete;
  Import& operator=(const Import&) = delete;
  uint64_t address() const { return reinterpret_cast<uint64_t>(address_); }
  uint64_t shareable() const { return shareable_; }

 private:
  const std::shared_ptr<Reservation> room_;
  void* const address_;
  const uint64_t shareable_;
  void* handle_ = nullptr;
};

/// WEFT_E_NOT_SUPPORT unless the hardware is of a kind that has zero copy: Ascend910_93*.
void check_hardware();

/// WEFT_E_PARA unless the address may be the start of a reservation, as far as the runtime tells.
void check_reservation(uint64_t base);

/// WEFT_E_PARA unless exactly the memory of `handle` is mapped at the span.
void check_mapping(const Span& span, void* handle);

/// Lets the device use a mapping of this process.
void grant(const Span& mapping, int32_t device);

}  // namespace weft::zerocopy
