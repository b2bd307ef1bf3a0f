// SPDX-License-Identifier: Apache-2.0
// Copies, sets and reductions: the synchronous ones at once, the others as tasks of a stream.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "context.hpp"
#include "kernels/kernels.hpp"
#include "memory.hpp"
#include "stream.hpp"

namespace weft::acl {
namespace {

constexpr size_t kRowCost = 64;  // of starting a row, in bytes copied meanwhile

struct Copy {
  char* dst;
  const char* src;
  size_t bytes;
  void* owned;  // staged source, freed with the task; or nullptr
};

struct Copy2d {
  char* dst;
  size_t dst_pitch;
  const char* src;
  size_t src_pitch;
  size_t width;
  size_t height;
  size_t column = 0;  // where the first row goes on
};

struct Set {
  char* dst;
  size_t bytes;
  int32_t value;
};

size_t limit_of(Runner runner) noexcept { return runner == Runner::kOwner ? SIZE_MAX : kHelpBytes; }

int32_t step_copy(Stream&, Task& task, Runner runner) noexcept {
  auto& a = task.arguments<Copy>();
  if (runner != Runner::kDiscard) {
    const size_t bytes = std::min(a.bytes, limit_of(runner));
    kernels::copy(a.dst, a.src, bytes);
    a.dst += bytes;
    a.src += bytes;
    a.bytes -= bytes;
    if (a.bytes != 0) return kMore;
  }
  std::free(a.owned);
  return kDone;
}

// Copies rows worth about `limit` bytes and takes them off; true if none is left.
bool copy_rows(Copy2d& a, size_t limit) noexcept {
  for (size_t cost = 0; a.height != 0 && cost < limit;) {
    const size_t bytes = std::min(a.width - a.column, limit - cost);
    kernels::copy(a.dst + a.column, a.src + a.column, bytes);
    cost += bytes + kRowCost;
    a.column += bytes;
    if (a.column < a.width) continue;
    a.column = 0;
    a.dst += a.dst_pitch;
    a.src += a.src_pitch;
    --a.height;
  }
  return a.height == 0;
}

int32_t step_copy_2d(Stream&, Task& task, Runner runner) noexcept {
  if (runner == Runner::kDiscard) return kDone;
  return copy_rows(task.arguments<Copy2d>(), limit_of(runner)) ? kDone : kMore;
}

int32_t step_set(Stream&, Task& task, Runner runner) noexcept {
  if (runner == Runner::kDiscard) return kDone;
  auto& a = task.arguments<Set>();
  const size_t bytes = std::min(a.bytes, limit_of(runner));
  std::memset(a.dst, a.value, bytes);
  a.dst += bytes;
  a.bytes -= bytes;
  return a.bytes == 0 ? kDone : kMore;
}

// Which side of a copy the kind says is device memory.
bool dst_is_device(aclrtMemcpyKind kind) {
  return kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE ||
         kind == ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE;
}
bool src_is_device(aclrtMemcpyKind kind) {
  return kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
}

aclError check_pointers(const void* dst, const void* src, const char* where) noexcept {
  if (dst != nullptr && src != nullptr) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", where, dst == nullptr ? "dst" : "src");
}

aclError check_copy(const void* dst, size_t room, const void* src, size_t bytes,
                    aclrtMemcpyKind kind, const char* where) noexcept {
  if (const aclError error = check_pointers(dst, src, where)) return error;
  if (kind < ACL_MEMCPY_HOST_TO_HOST || kind > ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: kind %d is not for this function", where, kind);
  }
  if (bytes > room) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: count %zu is more than the %zu bytes of destMax",
                where, bytes, room);
  }
  if (const aclError error = check_range(dst, bytes, where, "dst")) return error;
  return check_range(src, bytes, where, "src");
}

// A kind that promises device memory where nothing is known of the address cannot be trusted.
aclError check_places(Place dst, Place src, aclrtMemcpyKind kind, const char* where) noexcept {
  const bool bad_dst = dst == Place::kUnknown && dst_is_device(kind);
  const bool bad_src = src == Place::kUnknown && src_is_device(kind);
  if (!bad_dst && !bad_src) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID,
              "%s: kind %d says that %s is device memory, but it is not from aclrtMalloc", where,
              kind, bad_dst ? "dst" : "src");
}

aclError need_context_for(aclrtMemcpyKind kind, const char* where) noexcept {
  if (kind == ACL_MEMCPY_HOST_TO_HOST || need_context(where) != nullptr) return ACL_SUCCESS;
  return ACL_ERROR_RT_CONTEXT_NULL;
}

// Queues a task; with pageable memory, waits until the stream has done it.
template <class A>
aclError run_in_order(Stream& stream, bool wait, const char* where, Step step, const A& arguments) {
  if (wait && t_thread.in_host_function) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                "%s: pageable memory makes the call wait, which a host function must not; use "
                "aclrtMallocHost",
                where);
  }
  uint64_t position = 0;
  if (const aclError error = enqueue(stream, where, step, arguments, &position)) return error;
  if (wait) reach(stream, position, Deadline{});
  return ACL_SUCCESS;
}

// The host's data is copied now, so that the caller may reuse it.
aclError copy_staged(Stream& stream, void* dst, const void* src, size_t bytes,
                     const char* where) noexcept {
  void* staged = std::malloc(bytes);
  if (staged == nullptr) {
    return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: the host has no room to stage %zu bytes",
                where, bytes);
  }
  kernels::copy(staged, src, bytes);
  const Copy copy{static_cast<char*>(dst), static_cast<const char*>(staged), bytes, staged};
  const aclError error = enqueue(stream, where, step_copy, copy);
  if (error != ACL_SUCCESS) std::free(staged);
  return error;
}

aclError copy_async(void* dst, size_t room, const void* src, size_t bytes, aclrtMemcpyKind kind,
                    aclrtStream handle, bool pinned_only, const char* where) noexcept {
  if (bytes == 0) return ACL_SUCCESS;
  if (const aclError error = check_copy(dst, room, src, bytes, kind, where)) return error;
  if (kind == ACL_MEMCPY_HOST_TO_HOST) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                "%s: host to host has no asynchronous form; use aclrtMemcpy", where);
  }
  Stream* stream = nullptr;
  if (const aclError error = find_own_stream(handle, where, &stream)) return error;
  const Place dst_place = locate(dst).place;
  const Place src_place = locate(src).place;
  if (const aclError error = check_places(dst_place, src_place, kind, where)) return error;
  if (dst == src) return ACL_SUCCESS;
  if (kind == ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE) {
    return copy_staged(*stream, dst, src, bytes, where);
  }
  const bool pageable = dst_place == Place::kUnknown || src_place == Place::kUnknown;
  if (pageable && pinned_only) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: the host memory is not page-locked; use aclrtMallocHost or aclrtHostRegister",
                where);
  }
  const Copy copy{static_cast<char*>(dst), static_cast<const char*>(src), bytes, nullptr};
  return run_in_order(*stream, pageable, where, step_copy, copy);
}

aclError check_2d(const Copy2d& a, aclrtMemcpyKind kind, const char* where) noexcept {
  if (const aclError error = check_pointers(a.dst, a.src, where)) return error;
  if (kind < ACL_MEMCPY_HOST_TO_DEVICE || kind > ACL_MEMCPY_DEFAULT) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: kind %d is not for this function", where, kind);
  }
  if (a.width > a.dst_pitch || a.width > a.src_pitch) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: width %zu is more than a pitch (dst %zu, src %zu)",
                where, a.width, a.dst_pitch, a.src_pitch);
  }
  size_t dst_bytes = 0;
  size_t src_bytes = 0;
  if (__builtin_mul_overflow(a.height - 1, a.dst_pitch, &dst_bytes) ||
      __builtin_add_overflow(dst_bytes, a.width, &dst_bytes) ||
      __builtin_mul_overflow(a.height - 1, a.src_pitch, &src_bytes) ||
      __builtin_add_overflow(src_bytes, a.width, &src_bytes)) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %zu rows do not fit in the address space", where,
                a.height);
  }
  if (const aclError error = check_range(a.dst, dst_bytes, where, "dst")) return error;
  return check_range(a.src, src_bytes, where, "src");
}

aclError check_set(const void* dst, size_t room, size_t bytes, const char* where) noexcept {
  if (dst == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: devPtr is NULL", where);
  if (bytes > room) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: count %zu is more than the %zu bytes of maxCount",
                where, bytes, room);
  }
  return check_range(dst, bytes, where, "devPtr");
}

}  // namespace
}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                     aclrtMemcpyKind kind) {
  constexpr const char* kWhere = "aclrtMemcpy";
  if (count == 0) return ACL_SUCCESS;
  if (const aclError error = check_copy(dst, destMax, src, count, kind, kWhere)) return error;
  if (const aclError error = need_context_for(kind, kWhere)) return error;
  weft::kernels::copy(dst, src, count);
  return ACL_SUCCESS;
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream) {
  return copy_async(dst, destMax, src, count, kind, stream, false, "aclrtMemcpyAsync");
}

aclError aclrtMemcpyAsyncWithCondition(void* dst, size_t destMax, const void* src, size_t count,
                                       aclrtMemcpyKind kind, aclrtStream stream) {
  return copy_async(dst, destMax, src, count, kind, stream, true, "aclrtMemcpyAsyncWithCondition");
}

aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                       size_t height, aclrtMemcpyKind kind) {
  constexpr const char* kWhere = "aclrtMemcpy2d";
  if (width == 0 || height == 0) return ACL_SUCCESS;
  Copy2d copy{
      static_cast<char*>(dst), dpitch, static_cast<const char*>(src), spitch, width, height};
  if (const aclError error = check_2d(copy, kind, kWhere)) return error;
  if (const aclError error = need_context_for(kind, kWhere)) return error;
  while (!copy_rows(copy, SIZE_MAX)) {
  }
  return ACL_SUCCESS;
}

aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                            size_t height, aclrtMemcpyKind kind, aclrtStream stream) {
  constexpr const char* kWhere = "aclrtMemcpy2dAsync";
  if (width == 0 || height == 0) return ACL_SUCCESS;
  const Copy2d copy{
      static_cast<char*>(dst), dpitch, static_cast<const char*>(src), spitch, width, height};
  if (const aclError error = check_2d(copy, kind, kWhere)) return error;
  Stream* target = nullptr;
  if (const aclError error = find_own_stream(stream, kWhere, &target)) return error;
  const Place dst_place = locate(dst).place;
  const Place src_place = locate(src).place;
  if (const aclError error = check_places(dst_place, src_place, kind, kWhere)) return error;
  const bool pageable = dst_place == Place::kUnknown || src_place == Place::kUnknown;
  return run_in_order(*target, pageable, kWhere, step_copy_2d, copy);
}

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  constexpr const char* kWhere = "aclrtMemset";
  if (count == 0) return ACL_SUCCESS;
  if (const aclError error = check_set(devPtr, maxCount, count, kWhere)) return error;
  if (need_context(kWhere) == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  std::memset(devPtr, value, count);
  return ACL_SUCCESS;
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                          aclrtStream stream) {
  constexpr const char* kWhere = "aclrtMemsetAsync";
  if (count == 0) return ACL_SUCCESS;
  if (const aclError error = check_set(devPtr, maxCount, count, kWhere)) return error;
  Stream* target = nullptr;
  if (const aclError error = find_own_stream(stream, kWhere, &target)) return error;
  const bool pageable = locate(devPtr).place == Place::kUnknown;
  return run_in_order(*target, pageable, kWhere, step_set,
                      Set{static_cast<char*>(devPtr), count, value});
}
