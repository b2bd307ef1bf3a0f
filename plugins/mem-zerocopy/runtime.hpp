// SPDX-License-Identifier: Apache-2.0
// What this plugin needs of the ACL runtime, with errors as exceptions: reservations, physical
// memory that is shared between processes, and mappings of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "span.hpp"
#include "weft/host.h"

namespace weft::zerocopy {

/// A code for the caller and its reason; without a text, the reason was given to the core already.
struct Fault {
  int32_t code;
  std::string text;
};

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

/// Shareable handles of this process's memory: the runtime exports a handle once only, so the core
/// remembers them for all plugins. Keeps no memory alive.
class Exports {
 public:
  /// `address`: where the memory is mapped.
  uint64_t share(const weft_host& host, void* handle, uint64_t address);

 private:
  void forget_dead(const weft_host& host);

  std::map<void*, uint64_t> known_;  // addresses by handle
  size_t limit_ = 64;                // look for dead handles when there are more
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
