// SPDX-License-Identifier: Apache-2.0
#include "api/guard.hpp"

#include <cstdio>
#include <memory>
#include <new>

#include "base/log.hpp"
#include "comm/library.hpp"

namespace weft {
namespace {

constexpr size_t kLongest = 2048;

// On the heap, and made by the first error: thread-local memory must be small in a library that is
// loaded with dlopen.
thread_local std::unique_ptr<char[]> last_text;

}  // namespace

HcclResult report(HcclResult code, std::string_view where, std::string_view text) noexcept {
  report_again(code, where, text);
  log::error(last_error());
  return code;
}

HcclResult report_again(HcclResult code, std::string_view where, std::string_view text) noexcept {
  if (last_text == nullptr) last_text.reset(new (std::nothrow) char[kLongest]);
  if (last_text == nullptr) return code;
  std::snprintf(last_text.get(), kLongest, "%.*s: %.*s", static_cast<int>(where.size()),
                where.data(), static_cast<int>(text.size()), text.data());
  comm::Library::instance().tell_runtimes(last_text.get());
  return code;
}

const char* last_error() noexcept { return last_text == nullptr ? "" : last_text.get(); }

}  // namespace weft
