// SPDX-License-Identifier: Apache-2.0
// The store of error texts and the functions that read it.
#include "error.hpp"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>

#include "acl/acl_host.h"

namespace weft::acl {

thread_local constinit ThreadState t_thread;

namespace {

constexpr size_t kTextsKept = 16;

using Texts = std::deque<std::string>;  // newest first

std::atomic<bool> g_process_wide{false};

struct SharedTexts {
  std::mutex mutex;
  Texts texts;
};

SharedTexts& shared_texts() {
  static auto& shared = *new SharedTexts;  // never destroyed: threads may fail during exit
  return shared;
}

Texts& thread_texts() {
  thread_local Texts texts;
  return texts;
}

// What aclGetRecentErrMsg returned last on this thread.
std::string& returned_text() {
  thread_local std::string text;
  return text;
}

// Calls f with the store in use.
template <class F>
void with_texts(F&& f) {
  if (g_process_wide.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(shared_texts().mutex);
    f(shared_texts().texts);
  } else {
    f(thread_texts());
  }
}

}  // namespace

void store_text(const char* text) noexcept {
  ++t_thread.texts;
  try {
    with_texts([&](Texts& texts) {
      texts.emplace_front(text);
      if (texts.size() > kTextsKept) texts.pop_back();
    });
  } catch (const std::exception&) {
    // No memory for a text: the code alone has to do.
  }
}

void take_newest_text(char* buffer, size_t size) noexcept {
  buffer[0] = '\0';
  try {
    with_texts([&](Texts& texts) {
      if (texts.empty()) return;
      std::snprintf(buffer, size, "%s", texts.front().c_str());
      texts.pop_front();
    });
  } catch (const std::exception&) {
    buffer[0] = '\0';
  }
}

void set_process_wide_texts(bool on) noexcept { g_process_wide.store(on); }

aclError fail(aclError code, const char* format, ...) noexcept {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const size_t used = std::strlen(text);
  std::snprintf(text + used, sizeof text - used, " [%d]", code);
  store_text(text);
  return fail_silently(code);
}

aclError fail_silently(aclError code) noexcept {
  t_thread.last_error = code;
  return code;
}

}  // namespace weft::acl

using namespace weft::acl;

const char* aclGetRecentErrMsg() {
  try {
    std::string& result = returned_text();
    result.clear();
    with_texts([&](Texts& texts) {
      for (const std::string& text : texts) {
        if (!result.empty()) result += '\n';
        result += text;
      }
      texts.clear();
    });
    return result.empty() ? nullptr : result.c_str();
  } catch (const std::exception&) {
    return nullptr;
  }
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  if (level != ACL_RT_THREAD_LEVEL) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclrtPeekAtLastError: level %d does not exist; use ACL_RT_THREAD_LEVEL", level);
  }
  return t_thread.last_error;
}

aclError aclrtGetLastError(aclrtLastErrLevel level) {
  if (level != ACL_RT_THREAD_LEVEL) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclrtGetLastError: level %d does not exist; use ACL_RT_THREAD_LEVEL", level);
  }
  const aclError code = t_thread.last_error;
  t_thread.last_error = ACL_SUCCESS;
  return code;
}

void aclhostSetErrorText(const char* text) {
  if (text != nullptr) store_text(text);
}
