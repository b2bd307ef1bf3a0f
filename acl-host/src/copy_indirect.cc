// SPDX-License-Identifier: Apache-2.0
// Copies whose addresses a stream reads from device memory when it gets there, and sets of 32-bit
// words.
#include <algorithm>
#include <cstring>

#include "context.hpp"
#include "kernels/kernels.hpp"
#include "memory.hpp"
#include "stream.hpp"

namespace weft::acl {
namespace {

constexpr uint64_t kDescriptorMark = UINT64_C(0x7765667464657363);

/// What aclrtSetMemcpyDesc writes to device memory.
struct Descriptor {
  uint64_t mark;
  void* src;
  void* dst;
  uint64_t bytes;
};

/// `dst` and `src` are where the addresses are until the task begins, then the addresses.
struct Indirect {
  char* dst;
  const char* src;
  size_t dst_offset;
  size_t src_offset;
  size_t bytes;
  bool begun;
};

struct ByDescriptor {
  const Descriptor* at;
  char* dst;  // nullptr until the task begins
  const char* src;
  size_t bytes;
};

struct Words {
  uint32_t* at;
  size_t count;
  uint32_t value;
};

// What the hardware would report as a failed copy.
aclError check_ends(const void* dst, const void* src, size_t bytes, const char* where) noexcept {
  if (need_known(dst, bytes, false, where, "dst") == ACL_SUCCESS &&
      need_known(src, bytes, false, where, "src") == ACL_SUCCESS) {
    return ACL_SUCCESS;
  }
  return ACL_ERROR_RT_SYS_DMA;
}

int32_t advance(char*& dst, const char*& src, size_t& left, Runner runner) noexcept {
  const size_t bytes = runner == Runner::kOwner ? left : std::min(left, kHelpBytes);
  kernels::copy(dst, src, bytes);
  dst += bytes;
  src += bytes;
  left -= bytes;
  return left == 0 ? kDone : kMore;
}

int32_t step_indirect(Stream&, Task& task, Runner runner) noexcept {
  if (runner == Runner::kDiscard) return kDone;
  auto& a = task.arguments<Indirect>();
  if (!a.begun) {
    std::memcpy(&a.dst, a.dst, sizeof a.dst);
    std::memcpy(&a.src, a.src, sizeof a.src);
    a.dst += a.dst_offset;
    a.src += a.src_offset;
    a.begun = true;
    const aclError error = check_ends(a.dst, a.src, a.bytes, "aclrtMemcpyAsyncWithOffset");
    if (error != ACL_SUCCESS) return error;
  }
  return advance(a.dst, a.src, a.bytes, runner);
}

int32_t step_by_descriptor(Stream&, Task& task, Runner runner) noexcept {
  constexpr const char* kWhere = "aclrtMemcpyAsyncWithDesc";
  if (runner == Runner::kDiscard) return kDone;
  auto& a = task.arguments<ByDescriptor>();
  if (a.dst == nullptr) {
    Descriptor read;
    std::memcpy(&read, a.at, sizeof read);
    if (read.mark != kDescriptorMark) {
      return fail(ACL_ERROR_RT_SYS_DMA, "%s: %p holds no descriptor; call aclrtSetMemcpyDesc first",
                  kWhere, static_cast<const void*>(a.at));
    }
    a.dst = static_cast<char*>(read.dst);
    a.src = static_cast<const char*>(read.src);
    a.bytes = read.bytes;
    if (const aclError error = check_ends(a.dst, a.src, a.bytes, kWhere)) return error;
  }
  return advance(a.dst, a.src, a.bytes, runner);
}

int32_t step_words(Stream&, Task& task, Runner runner) noexcept {
  if (runner == Runner::kDiscard) return kDone;
  auto& a = task.arguments<Words>();
  const size_t count =
      runner == Runner::kOwner ? a.count : std::min(a.count, kHelpBytes / sizeof(uint32_t));
  std::fill_n(a.at, count, a.value);
  a.at += count;
  a.count -= count;
  return a.count == 0 ? kDone : kMore;
}

aclError check_inner(aclrtMemcpyKind kind, const char* where) noexcept {
  if (kind == ACL_MEMCPY_INNER_DEVICE_TO_DEVICE) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, "%s: kind %d must be INNER_DEVICE_TO_DEVICE (6)", where,
              kind);
}

aclError check_descriptor(const void* at, aclrtMemcpyKind kind, const char* where) noexcept {
  if (at == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: desc is NULL", where);
  if (const aclError error = check_inner(kind, where)) return error;
  return need_known(at, sizeof(Descriptor), false, where, "desc");
}

aclError check_words(const void* at, size_t room, size_t count, const char* where) noexcept {
  if (at == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: ptr is NULL", where);
  if (reinterpret_cast<uintptr_t>(at) % sizeof(uint32_t) != 0 || count > room / sizeof(uint32_t)) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "%s: ptr %p must be a multiple of 4, and %zu words must fit in %zu bytes", where,
                at, count, room);
  }
  if (need_known(at, count * sizeof(uint32_t), true, where, "ptr") == ACL_SUCCESS) {
    return ACL_SUCCESS;
  }
  return fail_silently(ACL_ERROR_INVALID_PARAM);  // the text is stored
}

}  // namespace
}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtMemcpyAsyncWithOffset(void** dst, size_t destMax, size_t dstDataOffset,
                                    const void** src, size_t count, size_t srcDataOffset,
                                    aclrtMemcpyKind kind, aclrtStream stream) {
  constexpr const char* kWhere = "aclrtMemcpyAsyncWithOffset";
  if (count == 0) return ACL_SUCCESS;
  if (dst == nullptr || src == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", kWhere, dst == nullptr ? "dst" : "src");
  }
  if (const aclError error = check_inner(kind, kWhere)) return error;
  if (count > destMax) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: count %zu is more than the %zu bytes of destMax",
                kWhere, count, destMax);
  }
  if (const aclError error = need_known(dst, sizeof *dst, false, kWhere, "dst")) return error;
  if (const aclError error = need_known(src, sizeof *src, false, kWhere, "src")) return error;
  Stream* target = nullptr;
  if (const aclError error = find_own_stream(stream, kWhere, &target)) return error;
  return enqueue(*target, kWhere, step_indirect,
                 Indirect{reinterpret_cast<char*>(dst), reinterpret_cast<const char*>(src),
                          dstDataOffset, srcDataOffset, count, false});
}

aclError aclrtGetMemcpyDescSize(aclrtMemcpyKind kind, size_t* descSize) {
  constexpr const char* kWhere = "aclrtGetMemcpyDescSize";
  if (descSize == nullptr) return null_output(kWhere, "descSize");
  if (const aclError error = check_inner(kind, kWhere)) return error;
  *descSize = sizeof(Descriptor);
  return ACL_SUCCESS;
}

aclError aclrtSetMemcpyDesc(void* desc, aclrtMemcpyKind kind, void* srcAddr, void* dstAddr,
                            size_t count, void* config) {
  constexpr const char* kWhere = "aclrtSetMemcpyDesc";
  if (srcAddr == nullptr || dstAddr == nullptr || count == 0 || config != nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "%s: srcAddr %p, dstAddr %p and count %zu must not be 0 and config must be NULL",
                kWhere, srcAddr, dstAddr, count);
  }
  if (const aclError error = check_descriptor(desc, kind, kWhere)) return error;
  const Descriptor made{kDescriptorMark, srcAddr, dstAddr, count};
  std::memcpy(desc, &made, sizeof made);
  return ACL_SUCCESS;
}

aclError aclrtMemcpyAsyncWithDesc(void* desc, aclrtMemcpyKind kind, aclrtStream stream) {
  constexpr const char* kWhere = "aclrtMemcpyAsyncWithDesc";
  if (const aclError error = check_descriptor(desc, kind, kWhere)) return error;
  Stream* target = nullptr;
  if (const aclError error = find_own_stream(stream, kWhere, &target)) return error;
  return enqueue(*target, kWhere, step_by_descriptor,
                 ByDescriptor{static_cast<const Descriptor*>(desc), nullptr, nullptr, 0});
}

aclError aclrtMemsetD32(void* ptr, size_t memSize, uint32_t value, size_t N) {
  constexpr const char* kWhere = "aclrtMemsetD32";
  if (N == 0) return ACL_SUCCESS;
  if (const aclError error = check_words(ptr, memSize, N, kWhere)) return error;
  if (need_context(kWhere) == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  std::fill_n(static_cast<uint32_t*>(ptr), N, value);
  return ACL_SUCCESS;
}

aclError aclrtMemsetD32Async(void* ptr, size_t memSize, uint32_t value, size_t N,
                             aclrtStream stream) {
  constexpr const char* kWhere = "aclrtMemsetD32Async";
  if (N == 0) return ACL_SUCCESS;
  if (const aclError error = check_words(ptr, memSize, N, kWhere)) return error;
  Stream* target = nullptr;
  if (const aclError error = find_own_stream(stream, kWhere, &target)) return error;
  return enqueue(*target, kWhere, step_words, Words{static_cast<uint32_t*>(ptr), N, value});
}
