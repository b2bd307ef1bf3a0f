// SPDX-License-Identifier: Apache-2.0
#include "bench/texts.hpp"

#include <fmt/format.h>

#include <utility>

namespace weft::tools {

std::string size_text(uint64_t bytes) {
  static constexpr std::pair<uint64_t, const char*> kUnits[] = {
      {uint64_t{1} << 30, "GiB"}, {uint64_t{1} << 20, "MiB"}, {uint64_t{1} << 10, "KiB"}};
  for (const auto& [unit, name] : kUnits) {
    if (bytes < unit) continue;
    const double count = double(bytes) / double(unit);
    return bytes % unit == 0 ? fmt::format("{}{}", bytes / unit, name)
                             : fmt::format("{:.1f}{}", count, name);
  }
  return bytes == 0 ? "-" : std::to_string(bytes);
}

std::string calls_text(Op op, uint64_t bytes) {
  const std::string name(facts(op).name);
  return op == Op::kBarrier ? name : name + " of " + size_text(bytes);
}

}  // namespace weft::tools
