// SPDX-License-Identifier: Apache-2.0
#include "api/guard.hpp"

#include <cstdio>

#include "base/log.hpp"
#include "comm/library.hpp"

namespace weft {
namespace {

thread_local char last_text[2048];

}  // namespace

HcclResult report(HcclResult code, std::string_view where, std::string_view text) noexcept {
  report_again(code, where, text);
  log::error(last_text);
  return code;
}

HcclResult report_again(HcclResult code, std::string_view where, std::string_view text) noexcept {
  std::snprintf(last_text, sizeof last_text, "%.*s: %.*s", static_cast<int>(where.size()),
                where.data(), static_cast<int>(text.size()), text.data());
  comm::Library::instance().tell_runtimes(last_text);
  return code;
}

const char* last_error() noexcept { return last_text; }

}  // namespace weft
