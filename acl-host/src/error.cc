// SPDX-License-Identifier: Apache-2.0
// The store of error texts and the functions that read it.
#include "error.hpp"

#include <atomic>
#include <cerrno>
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

struct ThreadTexts {
  Texts texts;
  std::string returned;  // what aclGetRecentErrMsg returned last
};

// Both trivial: destructors of globals and of other thread-locals may still fail and ask.
thread_local constinit ThreadTexts* t_texts = nullptr;
thread_local constinit bool t_ended = false;  // the thread's texts are gone for good

struct EndOfThread {
  ~EndOfThread() {
    t_ended = true;
    delete t_texts;
    t_texts = nullptr;
  }
};

// nullptr once the thread destroys its thread-locals.
ThreadTexts* thread_texts() {
  if (t_texts == nullptr && !t_ended) {
    thread_local const EndOfThread end_of_thread;
    t_texts = new ThreadTexts;
  }
  return t_texts;
}

// Calls f with the store in use, if there is one.
template <class F>
void with_texts(F&& f) {
  if (g_process_wide.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(shared_texts().mutex);
    f(shared_texts().texts);
  } else if (ThreadTexts* mine = thread_texts()) {
    f(mine->texts);
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

aclError null_output(const char* where, const char* name) noexcept {
  return fail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL; pass where to store the result", where,
              name);
}

aclError check_timeout(int32_t timeout, const char* where) noexcept {
  if (timeout == -1 || timeout > 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID,
              "%s: timeout %d is neither -1 (no limit) nor a positive number of milliseconds",
              where, timeout);
}

std::string explain_errno(int error) {
  const std::string text = strerror(error);
  if (error == EMFILE) {
    return text + ": all file descriptors of this process are in use; raise `ulimit -n`";
  }
  if (error == ENFILE) {
    return text + ": the host has no file descriptor left; end programs or raise fs.file-max";
  }
  return text;
}

std::string explain_no_thread(int error) {
  return std::string(strerror(error)) +
         ": the limit of threads is reached, or there is no memory for one; raise `ulimit -u` or "
         "the limit of processes of the container";
}

aclError fail_silently(aclError code) noexcept {
  t_thread.last_error = code;
  return code;
}

}  // namespace weft::acl

using namespace weft::acl;

const char* aclGetRecentErrMsg() {
  try {
    ThreadTexts* mine = thread_texts();
    if (mine == nullptr) return nullptr;
    std::string& result = mine->returned;
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
