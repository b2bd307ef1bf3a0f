// SPDX-License-Identifier: Apache-2.0
// The services that a plugin is given (P6): log lines, and the reason of a failure.
#include "weft/host.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/install.hpp"
#include "base/log.hpp"
#include "plugin/registry.hpp"

namespace weft::plugin {
namespace {

thread_local std::string failure;

std::string_view borrowed(const char* text, uint64_t length) noexcept {
  return text == nullptr ? std::string_view() : std::string_view(text, length);
}

void write_log(int32_t level, const char* text, uint64_t length) noexcept {
  const auto line = borrowed(text, length);
  switch (level) {
    case WEFT_LOG_DEBUG:
      return log::debug(line);
    case WEFT_LOG_INFO:
      return log::info(line);
    case WEFT_LOG_WARN:
      return log::warn(line);
    default:
      return log::error(line);
  }
}

void keep_failure(const char* text, uint64_t length) noexcept {
  try {
    failure = borrowed(text, length);
  } catch (...) {
    failure.clear();  // no memory for the text: the code still tells
  }
}

/// What plugins remember for each other. Leaked: they may outlive static destructors.
struct Memo {
  std::mutex mutex;
  std::map<std::pair<std::string, uint64_t>, uint64_t, std::less<>> numbers;
};

Memo& memo() {
  static auto* instance = new Memo;
  return *instance;
}

int32_t remember(const char* table, uint64_t key, uint64_t value) noexcept {
  try {
    const std::lock_guard lock(memo().mutex);
    memo().numbers[{table, key}] = value;
    return WEFT_OK;
  } catch (const std::bad_alloc&) {
    return WEFT_E_OOM;
  }
}

int32_t recall(const char* table, uint64_t key, uint64_t* value) noexcept {
  try {
    const std::lock_guard lock(memo().mutex);
    const auto found = memo().numbers.find(std::pair<std::string, uint64_t>(table, key));
    if (found == memo().numbers.end()) return WEFT_E_NOT_FOUND;
    *value = found->second;
    return WEFT_OK;
  } catch (const std::bad_alloc&) {
    return WEFT_E_OOM;
  }
}

void forget(const char* table, uint64_t key) noexcept {
  try {
    const std::lock_guard lock(memo().mutex);
    memo().numbers.erase(std::pair<std::string, uint64_t>(table, key));
  } catch (const std::bad_alloc&) {
    return;  // it stays: a number too much is no harm
  }
}

}  // namespace

const weft_host& host() noexcept {
  static constexpr weft_host kHost{
      WEFT_HEAD(weft_host), &write_log, &keep_failure, &remember, &recall, &forget};
  return kHost;
}

std::string take_failure() { return std::exchange(failure, std::string()); }

std::filesystem::path default_folder() { return install_prefix() / "lib64" / "weft" / "plugins"; }

std::vector<std::filesystem::path> path_variable() {
  const char* variable = std::getenv("WEFT_PLUGIN_PATH");
  std::istringstream list(variable == nullptr ? "" : variable);
  std::vector<std::filesystem::path> paths;
  for (std::string path; std::getline(list, path, ':');) {
    if (!path.empty()) paths.emplace_back(path);
  }
  return paths;
}

}  // namespace weft::plugin
