// SPDX-License-Identifier: Apache-2.0
#include "config/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace weft::config {
namespace {

constexpr size_t kMaxDigits = 10;

[[noreturn]] void refuse(const char* name, std::string_view value, std::string_view allowed) {
  throw Error(HCCL_E_PARA,
              fmt::format("environment variable {}=\"{}\": allowed is {}", name, value, allowed));
}

/// The value of a variable; unset, and the literal EmptyString, count as absent.
std::optional<std::string_view> get(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || std::string_view(value) == "EmptyString") return std::nullopt;
  return value;
}

uint64_t whole_number(const char* name, std::string_view text, uint64_t min, uint64_t max,
                      std::string_view allowed) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size() && !text.empty() &&
                    text.size() <= kMaxDigits;
  if (!good || value < min || value > max) refuse(name, text, allowed);
  return value;
}

/// Seconds with up to two decimals.
std::chrono::milliseconds seconds(const char* name, std::string_view text, uint64_t max,
                                  std::string_view allowed) {
  const size_t dot = text.find('.');
  const uint64_t whole = whole_number(name, text.substr(0, dot), 0, max, allowed);
  uint64_t hundredths = 0;
  if (dot != std::string_view::npos) {
    std::string decimals(text.substr(dot + 1));
    if (decimals.empty() || decimals.size() > 2) refuse(name, text, allowed);
    decimals.resize(2, '0');
    hundredths = whole_number(name, decimals, 0, 99, allowed);
  }
  return std::chrono::seconds(whole) + std::chrono::milliseconds(hundredths * 10);
}

/// Words with commas between them, of which only one is known so far. Nothing at all is none.
bool asks_for_memory_check(std::string_view text) {
  constexpr std::string_view kMemory = "memory";
  if (text.empty()) return false;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    if (text.substr(at, end - at) != kMemory) {
      refuse("WEFT_CHECK", text, "a list of checks with commas between them; there is one: memory");
    }
    at = end + 1;
  }
  return true;
}

}  // namespace

Environment read_environment() {
  Environment env;
  if (const auto text = get("HCCL_CONNECT_TIMEOUT")) {
    env.connect_timeout = std::chrono::seconds(whole_number(
        "HCCL_CONNECT_TIMEOUT", *text, 120, 7200, "a whole number of seconds from 120 to 7200"));
  }
  if (const auto text = get("HCCL_EXEC_TIMEOUT")) {
    env.exec_timeout = seconds("HCCL_EXEC_TIMEOUT", *text, 2147483647,
                               "seconds from 0 (no limit) to 2147483647, up to two decimals");
  }
  if (const auto text = get("HCCL_BUFFSIZE")) {
    env.buffer_mb = static_cast<uint32_t>(
        whole_number("HCCL_BUFFSIZE", *text, 1, UINT32_MAX, "a whole number of MB from 1"));
  }
  if (const auto text = get("HCCL_IF_BASE_PORT")) {
    env.base_port = static_cast<uint16_t>(
        whole_number("HCCL_IF_BASE_PORT", *text, 1024, 65520, "a whole number from 1024 to 65520"));
  }
  if (const auto text = get("HCCL_DETERMINISTIC")) {
    std::string lower(*text);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (lower != "false" && lower != "true" && lower != "strict") {
      refuse("HCCL_DETERMINISTIC", *text, "false, true or strict");
    }
    env.deterministic = lower != "false";
  }
  if (const auto text = get("HCCL_ALGO")) {
    env.algo = parse_hccl_algo(*text, HcclAlgoSource::kVariable);
  }
  if (const auto text = get("WEFT_CHECK")) env.check_memory = asks_for_memory_check(*text);
  return env;
}

}  // namespace weft::config
