// SPDX-License-Identifier: Apache-2.0
// Layout: the head, the number of pieces, the pieces, and the reason up to the end.
#include "offer.hpp"

#include <cstring>
#include <type_traits>

#include "fault.hpp"

namespace weft::symwin {
namespace {

template <class T>
void append(std::string& bytes, const T* values, size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

template <class T>
void take(std::string_view& bytes, T* values, uint64_t count) {
  if (count > bytes.size() / sizeof(T)) {
    throw Fault(WEFT_E_INTERNAL,
                "a rank sent what is no offer of a window; do all ranks run the "
                "same version of the plugin?");
  }
  if (count == 0) return;  // there may be no place for values
  std::memcpy(values, bytes.data(), count * sizeof(T));
  bytes.remove_prefix(count * sizeof(T));
}

}  // namespace

std::string encode(const Offer& offer) {
  std::string bytes;
  const uint64_t pieces = offer.pieces.size();
  append(bytes, &offer.head, 1);
  append(bytes, &pieces, 1);
  append(bytes, offer.pieces.data(), offer.pieces.size());
  return bytes + offer.reason;
}

Offer decode(std::string_view bytes) {
  Offer offer;
  uint64_t pieces = 0;
  take(bytes, &offer.head, 1);
  take(bytes, &pieces, 1);
  if (pieces <= bytes.size()) offer.pieces.resize(pieces);
  take(bytes, offer.pieces.data(), pieces);
  offer.reason = bytes;
  return offer;
}

}  // namespace weft::symwin
