// SPDX-License-Identifier: Apache-2.0
// aclrtReduceAsync: element-wise reduction into a destination, as the SDMA engines of the presented
// SoC offer it.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/kernels.hpp"
#include "memory.hpp"
#include "stream.hpp"

namespace weft::acl {
namespace {

constexpr uint64_t kMaxSumBytes = UINT64_C(4) << 30;
constexpr int kMovementOnly = -1;

struct ReduceType {
  aclDataType type;
  int kernel;  // of kernels::DataType, or kMovementOnly: known to the interface, not to the engines
  size_t size;
};

constexpr ReduceType kTypes[] = {
    {ACL_FLOAT, kernels::kFp32, 4},    {ACL_FLOAT16, kernels::kFp16, 2},
    {ACL_BF16, kernels::kBfp16, 2},    {ACL_INT8, kernels::kInt8, 1},
    {ACL_INT16, kernels::kInt16, 2},   {ACL_INT32, kernels::kInt32, 4},
    {ACL_UINT32, kernels::kUint32, 4}, {ACL_UINT16, kMovementOnly, 2},
    {ACL_UINT8, kMovementOnly, 1},     {ACL_INT4, kMovementOnly, 1},
};

struct Reduce {
  char* dst;
  const char* src;
  size_t elements;
  size_t size;  // of an element
  int type;
  int op;
};

int32_t step_reduce(Stream&, Task& task, Runner runner) noexcept {
  if (runner == Runner::kDiscard) return kDone;
  auto& a = task.arguments<Reduce>();
  const size_t elements =
      runner == Runner::kOwner ? a.elements : std::min(a.elements, kHelpBytes / a.size);
  void* const destination = a.dst;
  const void* const sources[] = {a.dst, a.src};
  kernels::reduce(&destination, 1, sources, 2, elements, a.type, a.op);
  a.dst += elements * a.size;
  a.src += elements * a.size;
  a.elements -= elements;
  return a.elements == 0 ? kDone : kMore;
}

const ReduceType* find_type(aclDataType type) noexcept {
  for (const ReduceType& known : kTypes) {
    if (known.type == type) return &known;
  }
  return nullptr;
}

// uint32 came with the 950 family.
bool engine_has(const ReduceType& type) noexcept {
  if (type.kernel == kMovementOnly) return false;
  return type.type != ACL_UINT32 || std::strncmp(aclrtGetSocName(), "Ascend950", 9) == 0;
}

int kernel_op(aclrtReduceKind kind) noexcept {
  if (kind == ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM) return kernels::kSum;
  return kind == ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX ? kernels::kMax : kernels::kMin;
}

aclError check_type(const ReduceType* type, aclDataType asked, aclrtReduceKind kind,
                    const char* where) noexcept {
  if (type == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: data type %d cannot be reduced", where, asked);
  }
  if (kind < ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM || kind > ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: kind %d does not exist", where, kind);
  }
  if (!engine_has(*type) || kind == ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                "%s: %s reduces neither every type nor every kind: not type %d with kind %d", where,
                aclrtGetSocName(), asked, kind);
  }
  return ACL_SUCCESS;
}

aclError check_size(const ReduceType& type, const void* dst, const void* src, uint64_t bytes,
                    aclrtReduceKind kind, const char* where) noexcept {
  const uintptr_t bits = reinterpret_cast<uintptr_t>(dst) | reinterpret_cast<uintptr_t>(src);
  if (bits % type.size != 0) {
    return fail(ACL_ERROR_RT_ADDR_UNALIGNED,
                "%s: dst %p and src %p must be multiples of the type's %zu bytes", where, dst, src,
                type.size);
  }
  if (bytes % type.size != 0 ||
      (kind == ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM && bytes > kMaxSumBytes)) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: count %llu bytes is no multiple of the type's %zu bytes, or more than 4 GiB",
                where, static_cast<unsigned long long>(bytes), type.size);
  }
  if (const aclError error = need_known(dst, bytes, false, where, "dst")) return error;
  return need_known(src, bytes, false, where, "src");
}

}  // namespace
}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtReduceAsync(void* dst, const void* src, uint64_t count, aclrtReduceKind kind,
                          aclDataType type, aclrtStream stream, void* reserve) {
  constexpr const char* kWhere = "aclrtReduceAsync";
  if (dst == nullptr || src == nullptr || count == 0) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: dst %p, src %p and count %llu must not be 0", kWhere,
                dst, src, static_cast<unsigned long long>(count));
  }
  if (reserve != nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: reserve must be NULL", kWhere);
  }
  const ReduceType* known = find_type(type);
  if (const aclError error = check_type(known, type, kind, kWhere)) return error;
  Stream* target = nullptr;
  if (const aclError error = find_own_stream(stream, kWhere, &target)) return error;
  if (const aclError error = check_size(*known, dst, src, count, kind, kWhere)) return error;
  const Reduce reduce{static_cast<char*>(dst), static_cast<const char*>(src),
                      count / known->size,     known->size,
                      known->kernel,           kernel_op(kind)};
  return enqueue(*target, kWhere, step_reduce, reduce);
}
