// SPDX-License-Identifier: Apache-2.0
// Reading structs whose writer may know fewer or more fields than this library (P2 - P5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "plugin/loader.hpp"
#include "weft/abi.h"

namespace weft::plugin {

/// A pointer member of a struct that begins with a head.
struct Entry {
  const char* name;
  std::size_t offset;
};
#define WEFT_ENTRY(type, field) \
  ::weft::plugin::Entry { #field, offsetof(type, field) }

/// Whether the writer of a table of `size` bytes at `table` knew the entry and filled it in (P3).
inline bool has_entry(const void* table, std::size_t size, const Entry& entry) noexcept {
  void* value = nullptr;
  if (entry.offset + sizeof(value) > size) return false;
  std::memcpy(&value, static_cast<const char*>(table) + entry.offset, sizeof(value));
  return value != nullptr;
}

/// Refuses a struct of another major (P4) or without a whole head (P2). `what` names it in the
/// message.
inline void check_head(const weft_head& head, const std::string& what) {
  if (head.size < sizeof(weft_head)) {
    throw Refusal(
        what + " says it has " + std::to_string(head.size) + " bytes, less than its own head", "P2",
        "begin it with WEFT_HEAD(type)");
  }
  if (head.major != WEFT_ABI_MAJOR) {
    throw Refusal(what + " is of weft ABI " + std::to_string(head.major) + "." +
                      std::to_string(head.minor) + ", this library has " +
                      std::to_string(WEFT_ABI_MAJOR) + "." + std::to_string(WEFT_ABI_MINOR),
                  "P4", "rebuild the plugin with this library's SDK");
  }
}

/// Refuses a struct that lacks an entry, naming it.
template <class Entries>
void check_entries(const void* table, const Entries& required, const std::string& what) {
  weft_head head;
  std::memcpy(&head, table, sizeof(head));
  for (const Entry& entry : required) {
    if (!has_entry(table, head.size, entry)) {
      throw Refusal(what + " lacks the required entry \"" + entry.name + "\"", "P5", "fill it in");
    }
  }
}

/// A full-size copy (P5): what the writer did not know is zero. head.size becomes the part that the
/// writer knew.
template <class T>
T full_copy(const T& theirs) noexcept {
  T ours{};
  const std::size_t known = std::min<std::size_t>(theirs.head.size, sizeof(T));
  std::memcpy(&ours, &theirs, known);
  ours.head.size = static_cast<uint32_t>(known);
  return ours;
}

}  // namespace weft::plugin
