// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <sstream>

#include "check/spec.hpp"
#include "options.hpp"

namespace weft::tools {
namespace {

constexpr const char* kDots = "..";

uint32_t parse_one(const std::string& text) {
  return static_cast<uint32_t>(parse_count(text, 2, kMostCheckedRanks));
}

}  // namespace

std::vector<uint32_t> parse_rank_list(const std::string& text) {
  std::set<uint32_t> all;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    const size_t dots = item.find(kDots);
    const uint32_t first = parse_one(item.substr(0, dots));
    const uint32_t last = dots == std::string::npos ? first : parse_one(item.substr(dots + 2));
    if (last < first) throw UsageError("'" + item + "' is an empty range");
    for (uint32_t n = first; n <= last; ++n) all.insert(n);
  }
  if (all.empty()) throw UsageError("'" + text + "' is no list of numbers like 2..17,32,64");
  return {all.begin(), all.end()};
}

std::string rank_list(const std::vector<uint32_t>& ranks) {
  std::string text;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(ranks[i]);
    if (end - i == 2) text += "," + std::to_string(ranks[i + 1]);
    if (end - i > 2) text += kDots + std::to_string(ranks[end - 1]);
    i = end;
  }
  return text.empty() ? "none" : text;
}

}  // namespace weft::tools
