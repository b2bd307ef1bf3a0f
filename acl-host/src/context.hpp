// SPDX-License-Identifier: Apache-2.0
// Devices, and contexts: what a thread is bound to.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "acl/acl.h"
#include "error.hpp"
#include "pool.hpp"
#include "stream.hpp"

namespace weft::acl {

class Heap;

constexpr size_t kSysParams = 4;
constexpr int64_t kSysParamUnset = INT64_MIN;

struct alignas(256) Context {
  std::atomic<Life> life_state{Life::kDead};
  std::atomic<uint64_t> serial{0};  // another one for every context ever made; 0 while dead
  Context* next_free = nullptr;
  int32_t device = 0;
  bool is_primary = false;
  Stream* default_stream = nullptr;
  std::atomic<bool> stop_on_failure{false};
  std::atomic<int64_t> sys_params[kSysParams];
};

extern constinit Pool<Context, 4096> g_contexts;

struct Device {
  std::mutex mutex;   // guards uses, primary and the creation of the heap
  uint32_t uses = 0;  // aclrtSetDevice without aclrtResetDevice
  Context* primary = nullptr;
  std::atomic<Heap*> heap{nullptr};
  std::atomic<size_t> streams{0};
  std::atomic<size_t> events{0};
  std::atomic<size_t> cnt_notifies{0};
  std::atomic<int> saturation{ACL_RT_OVERFLOW_MODE_INFNAN};
};

/// Number of visible devices; a negative number if the environment names them wrongly, after
/// reporting that in the name of `where`.
int32_t device_count(const char* where) noexcept;

/// Id of a visible device on the whole host.
int32_t host_device_id(int32_t device) noexcept;
int32_t host_device_count() noexcept;

/// Whether `device` is a visible device; reports 107001 in the name of `where` otherwise.
aclError check_device(int64_t device, const char* where) noexcept;

/// A checked device. The reference stays good for ever.
Device& device_at(int32_t device);

/// Reports, in the name of `where`, that this process was forked from one that had a heap: what it
/// inherited belongs to the parent.
aclError refuse_after_fork(const char* where) noexcept;

/// Sees to it that `refuse_after_fork` notices forks from now on. Reports failures.
aclError watch_forks(const char* where, aclError code) noexcept;

/// The device's memory, created on first use; nullptr after reporting why not.
Heap* heap_of(int32_t device, const char* where, aclError code) noexcept;

/// Counts access from a device to a peer as enabled.
void enable_peer(int32_t device, int32_t peer);

/// Binds the thread to the device's primary context and counts a use.
aclError set_device(int32_t device, const char* where) noexcept;

/// Device that threads without a context use, as configured by aclInit; -1 for none.
extern std::atomic<int32_t> g_default_device;

/// The thread's context, or nullptr. Does not report.
inline Context* current_context() noexcept {
  Context* context = t_thread.context;
  if (context != nullptr &&
      context->serial.load(std::memory_order_acquire) == t_thread.context_serial) {
    return context;
  }
  return nullptr;
}

/// The thread's context, or that of the configured default device; nullptr after reporting 107002.
Context* need_context(const char* where) noexcept;

void bind_context(Context& context) noexcept;
Context* create_context(int32_t device, bool is_primary, const char* where,
                        aclError* error) noexcept;

/// Waits for the context's streams, destroys them and it.
void destroy_context(Context& context) noexcept;

}  // namespace weft::acl
