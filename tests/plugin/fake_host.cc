// SPDX-License-Identifier: Apache-2.0
#include "fake_host.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <utility>

namespace weft::test {
namespace {

thread_local std::string reason;
std::atomic<size_t> lines{0};
std::mutex mutex;
std::map<std::pair<std::string, uint64_t>, uint64_t> numbers;  // with the mutex

weft_host make_host() {
  weft_host host{};
  host.head = WEFT_HEAD(weft_host);
  host.log = [](int32_t, const char*, uint64_t) { ++lines; };
  host.fail = [](const char* text, uint64_t length) { reason.assign(text, length); };
  host.remember = [](const char* table, uint64_t key, uint64_t value) -> int32_t {
    const std::lock_guard lock(mutex);
    numbers[{table, key}] = value;
    return WEFT_OK;
  };
  host.recall = [](const char* table, uint64_t key, uint64_t* value) -> int32_t {
    const std::lock_guard lock(mutex);
    const auto found = numbers.find({table, key});
    if (found == numbers.end()) return WEFT_E_NOT_FOUND;
    *value = found->second;
    return WEFT_OK;
  };
  host.forget = [](const char* table, uint64_t key) {
    const std::lock_guard lock(mutex);
    numbers.erase({table, key});
  };
  return host;
}

}  // namespace

const weft_host& fake_host() {
  static const weft_host host = make_host();
  return host;
}

std::string& last_reason() { return reason; }

size_t log_lines() { return lines; }

}  // namespace weft::test
