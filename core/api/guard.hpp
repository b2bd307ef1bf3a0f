// SPDX-License-Identifier: Apache-2.0
// The border between exceptions and codes: every C entry point of the setup zone runs inside
// guard().
#pragma once

#include <exception>
#include <new>
#include <string_view>

#include "base/error.hpp"

namespace weft {

/// Keeps `text` as the calling thread's last error, shows it to the runtime's error store and logs
/// it, once. Returns `code`. Never throws.
HcclResult report(HcclResult code, std::string_view where, std::string_view text) noexcept;

/// The same for an error that was logged when it happened: not logged again.
HcclResult report_again(HcclResult code, std::string_view where, std::string_view text) noexcept;

/// The text of the calling thread's last error; empty if none. Valid until the next error of this
/// thread.
const char* last_error() noexcept;

/// Runs body(), which returns HcclResult; turns what it throws into a code, reported under the name
/// `where`.
template <typename Body>
HcclResult guard(const char* where, Body&& body) noexcept {
  try {
    return body();
  } catch (const Error& e) {
    return report(e.code(), where, e.what());
  } catch (const std::bad_alloc&) {
    return report(HCCL_E_OOM, where, "out of memory on the host");
  } catch (const std::exception& e) {
    return report(HCCL_E_INTERNAL, where, e.what());
  } catch (...) {
    return report(HCCL_E_INTERNAL, where, "unknown exception");
  }
}

}  // namespace weft
