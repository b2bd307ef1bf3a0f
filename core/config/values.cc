// SPDX-License-Identifier: Apache-2.0
#include "config/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <optional>
#include <span>

#include "config/complain.hpp"

namespace weft::config {
namespace {

constexpr size_t kMostDigits = 10;

bool only_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

struct KeyValue {
  std::string_view key;
  std::string_view value;
};

KeyValue split_pair(std::string_view item) {
  const size_t colon = item.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == item.size()) {
    throw BadValue(fmt::format("\"{}\" is not key:value", item));
  }
  return {item.substr(0, colon), item.substr(colon + 1)};
}

/// The index of a key, which may be there once.
size_t known_key(std::string_view key, std::span<const std::string_view> known, uint32_t& seen) {
  const auto found = std::find(known.begin(), known.end(), key);
  if (found == known.end()) {
    throw BadValue(fmt::format("unknown key \"{}\"{}", key, suggestion(key, known)));
  }
  const auto index = static_cast<size_t>(found - known.begin());
  if ((seen >> index & 1) != 0) throw BadValue(fmt::format("\"{}\" is there twice", key));
  seen |= 1U << index;
  return index;
}

uint64_t number_of_key(const KeyValue& pair, uint64_t min, uint64_t max) {
  try {
    return whole_number(pair.value, min, max);
  } catch (const BadValue& bad) {
    throw BadValue(fmt::format("{}: {}", pair.key, bad.what()));
  }
}

/// Keeps what is there, and warns, if the word is none of them.
bool switch_of_key(const KeyValue& pair, std::initializer_list<std::string_view> on, bool fallback,
                   std::vector<std::string>& warnings) {
  if (std::find(on.begin(), on.end(), pair.value) != on.end()) return true;
  if (pair.value == "off") return false;
  std::string allowed;
  for (const std::string_view word : on) allowed += fmt::format("{}, ", word);
  warnings.push_back(fmt::format("HCCL_DFS_CONFIG: {}:{} is ignored; allowed are {}off", pair.key,
                                 pair.value, allowed));
  return fallback;
}

}  // namespace

uint64_t whole_number(std::string_view text, uint64_t min, uint64_t max) {
  if (text.empty()) throw BadValue("it is empty");
  if (text.size() > kMostDigits) {
    throw BadValue(fmt::format("it has more than {} characters", kMostDigits));
  }
  const bool negative = text.front() == '-';
  if (!only_digits(text.substr(negative ? 1 : 0))) throw BadValue("it is no whole number");
  uint64_t value = 0;
  if (!negative) std::from_chars(text.data(), text.data() + text.size(), value);
  if (negative || value < min || value > max) throw BadValue("it is out of range");
  return value;
}

bool is_on(std::string_view text) { return whole_number(text, 0, 1) == 1; }

std::chrono::milliseconds decimal_seconds(std::string_view text, uint64_t max) {
  const size_t dot = text.find('.');
  const uint64_t whole = whole_number(text.substr(0, dot), 0, max);
  uint64_t hundredths = 0;
  if (dot != std::string_view::npos) {
    std::string decimals(text.substr(dot + 1));
    if (decimals.empty() || decimals.size() > 2) {
      throw BadValue("there must be one or two digits behind the point");
    }
    decimals.resize(2, '0');
    hundredths = whole_number(decimals, 0, 99);
  }
  if (whole == max && hundredths > 0) throw BadValue("it is out of range");
  return std::chrono::seconds(whole) + std::chrono::milliseconds(hundredths * 10);
}

size_t one_of(std::string_view text, std::initializer_list<std::string_view> words, bool any_case) {
  const std::string given(text);
  const auto found = std::find_if(words.begin(), words.end(), [&](std::string_view word) {
    return any_case ? in_lower_case(given) == in_lower_case(word) : given == word;
  });
  if (found != words.end()) return static_cast<size_t>(found - words.begin());
  throw BadValue(text.empty() ? "it is empty" : "it is none of the words");
}

void check_length(std::string_view text, size_t most) {
  if (text.size() > most) {
    throw BadValue(fmt::format("it has {} characters, at most {} are allowed", text.size(), most));
  }
}

void check_ratio(std::string_view text) {
  const size_t dot = text.find('.');
  const std::string_view whole = text.substr(0, dot);
  const std::string_view decimals = dot == std::string_view::npos ? "0" : text.substr(dot + 1);
  if (!only_digits(whole) || !only_digits(decimals)) throw BadValue("it is no decimal number");
  // By the digits: there may be more of them than a number has room for.
  const std::string_view value = whole.substr(std::min(whole.find_first_not_of('0'), whole.size()));
  const bool no_decimals = decimals.find_first_not_of('0') == std::string_view::npos;
  if (!value.empty() && (value != "1" || !no_decimals)) throw BadValue("it is out of range");
}

std::vector<std::string_view> comma_list(std::string_view text) {
  std::vector<std::string_view> items;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    items.push_back(text.substr(at, end - at));
    if (items.back().empty()) throw BadValue("a part of the list is empty");
    at = end + 1;
  }
  return items;
}

std::string without_spaces(std::string_view text) {
  std::string kept;
  std::copy_if(text.begin(), text.end(), std::back_inserter(kept), [](char c) { return c != ' '; });
  return kept;
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

DebugLogs parse_debug(std::string_view text) {
  const bool inverted = text.starts_with('^');
  if (inverted) text.remove_prefix(1);
  DebugLogs logs{inverted, inverted, inverted};
  for (const std::string_view item : comma_list(text)) {
    const std::string name = in_lower_case(item);
    if (name == "alg") {
      logs.algorithms = !inverted;
    } else if (name == "task") {
      logs.tasks = !inverted;
    } else if (name == "resource") {
      logs.resources = !inverted;
    } else {
      throw BadValue(fmt::format("\"{}\" is none of ALG, TASK and RESOURCE", item));
    }
  }
  return logs;
}

Diagnostics parse_diagnostics(std::string_view text, std::vector<std::string>& warnings) {
  constexpr std::array<std::string_view, 6> kKeys = {"connection_fault_detection_time",
                                                     "cluster_heartbeat",
                                                     "stuck_detection",
                                                     "inconsistent_check",
                                                     "task_exception",
                                                     "task_monitor_interval"};
  Diagnostics made;
  uint32_t seen = 0;
  const std::string all = in_lower_case(without_spaces(text));
  for (const std::string_view item : comma_list(all)) {
    const KeyValue pair = split_pair(item);
    switch (known_key(pair.key, kKeys, seen)) {
      case 0: {
        const uint64_t seconds = number_of_key(pair, 0, 7200);
        if (seconds != 0 && seconds < 20) {
          throw BadValue(fmt::format("{}: it is out of range", pair.key));
        }
        made.detection.time = std::chrono::seconds(seconds);
        break;
      }
      case 1:
        made.detection.heartbeat = switch_of_key(pair, {"on"}, true, warnings);
        break;
      case 2:
        (void)switch_of_key(pair, {"on"}, true, warnings);
        break;
      case 3:
        (void)switch_of_key(pair, {"on", "first"}, true, warnings);
        break;
      case 4:
        made.task_exception = switch_of_key(pair, {"on"}, true, warnings);
        break;
      default:
        made.monitor = std::chrono::milliseconds(number_of_key(pair, 0, 7'200'000));
        break;
    }
  }
  return made;
}

RetryLevels parse_retry_levels(std::string_view text) {
  constexpr std::array<std::string_view, 3> kLevels = {"L0", "L1", "L2"};
  RetryLevels levels{};
  uint32_t seen = 0;
  const std::string all = without_spaces(text);
  for (const std::string_view item : comma_list(all)) {
    const KeyValue pair = split_pair(item);
    const size_t level = known_key(pair.key, kLevels, seen);
    levels[level] = number_of_key(pair, 0, 1) == 1;
  }
  return levels;
}

void check_retry_params(std::string_view text) {
  constexpr std::array<std::string_view, 3> kParams = {"MaxCnt", "HoldTime", "IntervalTime"};
  uint32_t seen = 0;
  const std::string all = without_spaces(text);
  for (const std::string_view item : comma_list(all)) {
    const KeyValue pair = split_pair(item);
    const bool count = known_key(pair.key, kParams, seen) == 0;
    (void)number_of_key(pair, count ? 1 : 0, count ? 10 : 60'000);
  }
}

void check_traffic_class(uint64_t value) {
  if (value > 255) throw BadValue("it is out of range");
  if (value % 4 != 0) throw BadValue("it is no multiple of 4");
}

}  // namespace weft::config
