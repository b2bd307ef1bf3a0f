// SPDX-License-Identifier: Apache-2.0
// The services that a plugin is given (P6): log lines, and the reason of a failure.
#include "weft/host.h"

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

}  // namespace

const weft_host& host() noexcept {
  static constexpr weft_host kHost{WEFT_HEAD(weft_host), &write_log, &keep_failure};
  return kHost;
}

std::string take_failure() { return std::exchange(failure, std::string()); }

std::filesystem::path default_folder() { return install_prefix() / "lib64" / "weft" / "plugins"; }

}  // namespace weft::plugin
