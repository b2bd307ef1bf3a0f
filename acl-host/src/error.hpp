// SPDX-License-Identifier: Apache-2.0
// Failures: how a function reports one, and where the calling thread's code and texts are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>

#include "acl/acl.h"

namespace weft::acl {

struct Context;

/// What the runtime knows about a thread. Trivial, so that it can be used at any time.
struct ThreadState {
  Context* context = nullptr;     ///< current context; valid only if it still has this serial
  uint64_t context_serial = 0;    ///< see Context::serial
  aclError last_error = 0;        ///< for aclrtGetLastError
  uint32_t texts = 0;             ///< texts stored so far; tells whether a task left a new one
  bool in_host_function = false;  ///< a user's function runs on this thread: it must not wait
};

// Small and on the way of every call: in the space that the loader keeps for that.
[[gnu::tls_model("initial-exec")]] extern thread_local constinit ThreadState t_thread;

/// Stores the code as the thread's last error and the text, which says what, where and what to do,
/// with the code appended. Returns the code.
[[gnu::format(printf, 2, 3)]] aclError fail(aclError code, const char* format, ...) noexcept;

/// The same without a text, for answers that are no mistake ("no device yet").
aclError fail_silently(aclError code) noexcept;

/// Reports an output that is NULL, in the name of `where`.
aclError null_output(const char* where, const char* name) noexcept;

/// Reports a timeout that is neither -1 nor a positive number of milliseconds.
aclError check_timeout(int32_t timeout, const char* where) noexcept;

/// An error number in words; where file descriptors have run out, also what to do.
std::string explain_errno(int error);

/// The same of a thread that could not be started.
std::string explain_no_thread(int error);

/// Adds a text to the store of the calling thread; drops it if the thread's store is gone, which
/// it is once the thread has begun to destroy its thread-local objects.
void store_text(const char* text) noexcept;

/// Moves the calling thread's newest text to `buffer`; an empty string if there is none.
void take_newest_text(char* buffer, size_t size) noexcept;

/// Whether texts are kept per process instead of per thread.
void set_process_wide_texts(bool on) noexcept;

/// Runs `body` behind a C boundary: nothing is thrown across it.
template <class Body>
aclError guarded(const char* where, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::exception& e) {
    return fail(ACL_ERROR_BAD_ALLOC, "%s: %s", where, e.what());
  }
}

}  // namespace weft::acl
