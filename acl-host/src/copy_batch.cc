// SPDX-License-Identifier: Apache-2.0
// Copies between host and device in batches.
#include <algorithm>

#include "context.hpp"

namespace weft::acl {
namespace {

struct Batch {
  void** dsts;
  size_t* rooms;
  void** srcs;
  size_t* sizes;
  size_t count;
  aclrtMemcpyBatchAttr* attrs;
  size_t* attr_starts;  // the first entry of each attribute
  size_t attr_count;
  const char* where;
};

bool is_host(aclrtMemLocationType type) noexcept {
  return type == ACL_MEM_LOCATION_TYPE_HOST || type == ACL_MEM_LOCATION_TYPE_HOST_NUMA;
}

aclError check_attribute(const Batch& batch, size_t i) noexcept {
  const aclrtMemcpyBatchAttr& attr = batch.attrs[i];
  const size_t start = batch.attr_starts[i];
  const bool in_order = i == 0 ? start == 0 : start > batch.attr_starts[i - 1];
  if (!in_order || start >= batch.count) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "%s: attribute %zu begins at entry %zu; the first begins at 0 and each later one "
                "after the one before",
                batch.where, i, start);
  }
  if (std::any_of(std::begin(attr.rsv), std::end(attr.rsv), [](uint8_t byte) { return byte; })) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: rsv of attribute %zu is not all 0", batch.where, i);
  }
  const auto dst = attr.dstLoc.type;
  const auto src = attr.srcLoc.type;
  if ((is_host(dst) && src == ACL_MEM_LOCATION_TYPE_DEVICE) ||
      (is_host(src) && dst == ACL_MEM_LOCATION_TYPE_DEVICE)) {
    return ACL_SUCCESS;
  }
  return fail(ACL_ERROR_INVALID_PARAM,
              "%s: attribute %zu is not for copies between host and device (types %d and %d)",
              batch.where, i, dst, src);
}

aclError check(const Batch& batch, size_t* failed) noexcept {
  if (batch.dsts == nullptr || batch.rooms == nullptr || batch.srcs == nullptr ||
      batch.sizes == nullptr || batch.attrs == nullptr || batch.attr_starts == nullptr ||
      batch.count == 0 || batch.attr_count == 0) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: an array is NULL or a number of entries is 0",
                batch.where);
  }
  for (size_t i = 0; i < batch.attr_count; ++i) {
    if (const aclError error = check_attribute(batch, i)) return error;
  }
  for (size_t i = 0; i < batch.count; ++i) {
    if (batch.sizes[i] <= batch.rooms[i]) continue;
    *failed = i;
    return fail(ACL_ERROR_INVALID_PARAM,
                "%s: size %zu of entry %zu is more than the %zu of destMax", batch.where,
                batch.sizes[i], i, batch.rooms[i]);
  }
  return ACL_SUCCESS;
}

// `failed` gets the entry at fault, or SIZE_MAX if there is none.
template <class Copy>
aclError run(const Batch& batch, size_t* failed, Copy copy) noexcept {
  *failed = SIZE_MAX;
  if (const aclError error = check(batch, failed)) return error;
  size_t attribute = 0;
  for (size_t i = 0; i < batch.count; ++i) {
    while (attribute + 1 < batch.attr_count && batch.attr_starts[attribute + 1] <= i) ++attribute;
    const aclrtMemcpyKind kind = is_host(batch.attrs[attribute].dstLoc.type)
                                     ? ACL_MEMCPY_DEVICE_TO_HOST
                                     : ACL_MEMCPY_HOST_TO_DEVICE;
    const aclError error = copy(batch.dsts[i], batch.rooms[i], batch.srcs[i], batch.sizes[i], kind);
    if (error == ACL_SUCCESS) continue;
    *failed = i;
    return error;
  }
  return ACL_SUCCESS;
}

aclError run_async(const Batch& batch, size_t* failed, aclrtStream stream) noexcept {
  return run(batch, failed,
             [stream](void* dst, size_t room, const void* src, size_t bytes, aclrtMemcpyKind kind) {
               return aclrtMemcpyAsync(dst, room, src, bytes, kind, stream);
             });
}

}  // namespace
}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtMemcpyBatch(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes,
                          size_t numBatches, aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes,
                          size_t numAttrs, size_t* failIndex) {
  if (failIndex == nullptr) return null_output("aclrtMemcpyBatch", "failIndex");
  return run(
      {dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs, "aclrtMemcpyBatch"},
      failIndex, aclrtMemcpy);
}

aclError aclrtMemcpyBatchV2(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes,
                            size_t numBatches, aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes,
                            size_t numAttrs) {
  size_t failed = 0;
  return run({dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs,
              "aclrtMemcpyBatchV2"},
             &failed, aclrtMemcpy);
}

aclError aclrtMemcpyBatchAsync(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes,
                               size_t numBatches, aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes,
                               size_t numAttrs, size_t* failIndex, aclrtStream stream) {
  if (failIndex == nullptr) return null_output("aclrtMemcpyBatchAsync", "failIndex");
  return run_async({dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs,
                    "aclrtMemcpyBatchAsync"},
                   failIndex, stream);
}

aclError aclrtMemcpyBatchAsyncV2(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes,
                                 size_t numBatches, aclrtMemcpyBatchAttr* attrs,
                                 size_t* attrsIndexes, size_t numAttrs, aclrtStream stream) {
  size_t failed = 0;
  return run_async({dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs,
                    "aclrtMemcpyBatchAsyncV2"},
                   &failed, stream);
}
