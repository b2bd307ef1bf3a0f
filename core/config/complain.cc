// SPDX-License-Identifier: Apache-2.0
#include "config/complain.hpp"

#include <algorithm>

#include "base/names.hpp"

namespace weft::config {

void complain(const std::string& file, Place place, const std::string& what, HcclResult code) {
  throw Error(code, file + ":" + std::to_string(place.line) + ":" + std::to_string(place.column) +
                        ": " + what);
}

void Faults::raise() const {
  constexpr size_t kMost = 20;
  if (texts_.empty()) return;
  std::string all = texts_.front();
  for (size_t i = 1; i < std::min(texts_.size(), kMost); ++i) all += '\n' + texts_[i];
  if (texts_.size() > kMost) all += "\nand " + std::to_string(texts_.size() - kMost) + " more";
  throw Error(HCCL_E_PARA, all);
}

std::string suggestion(std::string_view wrong, std::span<const std::string_view> known) {
  const std::string_view near = nearest(wrong, known);
  if (!near.empty()) return "; did you mean \"" + std::string(near) + "\"?";
  std::string all;
  for (const std::string_view word : known) {
    all += (all.empty() ? "; known are " : ", ") + std::string(word);
  }
  return all;
}

}  // namespace weft::config
