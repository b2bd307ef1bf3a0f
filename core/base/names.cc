// SPDX-License-Identifier: Apache-2.0
#include "base/names.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

namespace weft {
namespace {

using std::string_view_literals::operator""sv;

constexpr auto kUnknown = "unknown"sv;

// The index is the number; a number that is not assigned has an empty name.
constexpr std::array<std::string_view, kTypeSizes.size()> kTypeNames = {
    "int8",   "int16", "int32", "fp16",   "fp32", "int64", "uint64",  "uint8",   "uint16",
    "uint32", "fp64",  "bfp16", "int128", "",     "hif8",  "fp8e4m3", "fp8e5m2", "fp8e8m0"};
constexpr std::array<std::string_view, 4> kReduceOpNames = {"sum", "prod", "max", "min"};

std::string_view name_of(std::span<const std::string_view> names, int number) noexcept {
  const auto index = static_cast<std::size_t>(static_cast<unsigned int>(number));
  return index < names.size() && !names[index].empty() ? names[index] : kUnknown;
}

std::optional<int> number_of(std::span<const std::string_view> names,
                             std::string_view name) noexcept {
  const auto found = std::find(names.begin(), names.end(), name);
  if (name.empty() || found == names.end()) {
    return std::nullopt;
  }
  return static_cast<int>(found - names.begin());
}

// Levenshtein: letters to insert, delete or replace to make `b` of `a`. One row of the table.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view type_name(int type) noexcept { return name_of(kTypeNames, type); }

std::string_view op_name(int op) noexcept { return name_of(kReduceOpNames, op); }

std::vector<std::string_view> type_names() {
  std::vector<std::string_view> names;
  std::ranges::copy_if(kTypeNames, std::back_inserter(names),
                       [](std::string_view name) { return !name.empty(); });
  return names;
}

std::vector<std::string_view> op_names() { return {kReduceOpNames.begin(), kReduceOpNames.end()}; }

std::optional<int> parse_type(std::string_view name) noexcept {
  return number_of(kTypeNames, name);
}

std::optional<int> parse_reduce_op(std::string_view name) noexcept {
  return number_of(kReduceOpNames, name);
}

std::string_view nearest(std::string_view wrong, std::span<const std::string_view> known) {
  // Two letters or a third of them may be wrong: beyond that it is another word.
  return nearest(wrong, known, std::max<std::size_t>(2, wrong.size() / 3));
}

std::string_view nearest(std::string_view wrong, std::span<const std::string_view> known,
                         std::size_t most) {
  std::string_view best;
  std::size_t limit = most + 1;
  for (const std::string_view name : known) {
    const std::size_t distance = edit_distance(wrong, name);
    if (distance < limit && distance < wrong.size()) {
      best = name;
      limit = distance;
    }
  }
  return best;
}

}  // namespace weft
