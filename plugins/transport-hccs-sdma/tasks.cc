// SPDX-License-Identifier: Apache-2.0
// The tasks engine: what the core queues becomes tasks of streams, by public functions of ACL only:
// asynchronous copies, inline reduce, notifies, events.
#include <fmt/format.h>

#include <algorithm>

#include "acl/acl_rt.h"
#include "endpoint.hpp"
#include "split.hpp"
#include "task_state.hpp"

namespace weft::hccs {
namespace {

// HcclDataType and HcclReduceOp values that inline reduce has a counterpart for.
struct InlineType {
  int32_t hccl;
  aclDataType acl;
  uint64_t bytes;
};
constexpr InlineType kInlineTypes[] = {{0, ACL_INT8, 1},    {1, ACL_INT16, 2}, {2, ACL_INT32, 4},
                                       {3, ACL_FLOAT16, 2}, {4, ACL_FLOAT, 4}, {11, ACL_BF16, 2}};

struct InlineOp {
  int32_t hccl;
  aclrtReduceKind acl;
};
constexpr InlineOp kInlineOps[] = {{0, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM},
                                   {2, ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX},
                                   {3, ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN}};

const InlineType* find_type(int32_t type) {
  const auto* found = std::find_if(std::begin(kInlineTypes), std::end(kInlineTypes),
                                   [type](const InlineType& each) { return each.hccl == type; });
  return found == std::end(kInlineTypes) ? nullptr : found;
}

const InlineOp* find_op(int32_t op) {
  const auto* found = std::find_if(std::begin(kInlineOps), std::end(kInlineOps),
                                   [op](const InlineOp& each) { return each.hccl == op; });
  return found == std::end(kInlineOps) ? nullptr : found;
}

TaskState& state(void* endpoint) { return *static_cast<Endpoint*>(endpoint)->tasks; }

int32_t share(void* endpoint, uint64_t bytes, void** address) {
  return guarded([&] { return state(endpoint).share(bytes, address); });
}

int32_t new_stream(void* endpoint, void** stream) {
  return guarded([&] { return state(endpoint).new_stream(stream); });
}

int32_t locate(void* endpoint, const void* address, uint64_t bytes, uint32_t* place) {
  aclrtPtrAttributes first{};
  aclrtPtrAttributes last{};
  const auto* end = static_cast<const char*>(address) + (bytes == 0 ? 0 : bytes - 1);
  const bool known = aclrtPointerGetAttributes(address, &first) == ACL_SUCCESS &&
                     aclrtPointerGetAttributes(end, &last) == ACL_SUCCESS &&
                     first.location.type == last.location.type;
  if (known && first.location.type == ACL_MEM_LOCATION_TYPE_DEVICE) {
    *place = WEFT_SIDE_DEVICE;
    return WEFT_OK;
  }
  if (known && first.location.type == ACL_MEM_LOCATION_TYPE_HOST) {
    *place = WEFT_SIDE_HOST;
    return WEFT_OK;
  }
  return guarded([&] {
    return static_cast<Endpoint*>(endpoint)->context->fail(
        WEFT_E_PARA,
        fmt::format("the {} bytes at {} are neither device memory nor page-locked host memory, "
                    "which a stream's copies need; allocate them with aclrtMalloc or "
                    "aclrtMallocHost, or set engine = \"direct\" in [transport] of the policy",
                    bytes, address));
  });
}

int32_t copy(void* endpoint, void* stream, void* dst, const void* src, uint64_t bytes,
             uint32_t place) {
  return state(endpoint).copy(stream, dst, src, bytes, place);
}

int32_t reduce(void* endpoint, void* stream, void* dst, const void* src, uint64_t count,
               int32_t type, int32_t op) {
  return state(endpoint).reduce(stream, dst, src, count, type, op);
}

int32_t record(void* endpoint, void* stream, uint32_t peer, uint32_t index) {
  return state(endpoint).record(stream, peer, index);
}

int32_t wait(void* endpoint, void* stream, uint32_t peer, uint32_t index, uint32_t seconds) {
  return state(endpoint).wait(stream, peer, index, seconds);
}

int32_t mark(void* endpoint, void* stream, uint32_t mark) {
  return state(endpoint).mark(stream, mark);
}

int32_t follow(void* endpoint, void* stream, uint32_t mark) {
  return state(endpoint).follow(stream, mark);
}

int32_t passed(void* endpoint, uint32_t mark) { return state(endpoint).passed(mark) ? 1 : 0; }

int32_t abort_stream(void* endpoint, void* stream) { return state(endpoint).abort(stream); }

}  // namespace

int32_t inline_reduces(int32_t type, int32_t op) {
  return find_type(type) != nullptr && find_op(op) != nullptr ? 1 : 0;
}

int32_t TaskState::copy(void* stream, void* dst, const void* src, uint64_t bytes,
                        uint32_t place) const {
  const aclrtMemcpyKind kind =
      place == WEFT_SIDE_HOST ? ACL_MEMCPY_DEFAULT : ACL_MEMCPY_DEVICE_TO_DEVICE;
  return for_each_part(bytes, [&](uint64_t at, uint64_t part) {
    return check(aclrtMemcpyAsync(static_cast<char*>(dst) + at, part,
                                  static_cast<const char*>(src) + at, part, kind, stream),
                 "queueing a copy");
  });
}

int32_t TaskState::reduce(void* stream, void* dst, const void* src, uint64_t count, int32_t type,
                          int32_t op) const {
  const InlineType* known = find_type(type);
  const InlineOp* kind = find_op(op);
  if (known == nullptr || kind == nullptr) return WEFT_E_NOT_SUPPORT;
  return for_each_part(count * known->bytes, [&](uint64_t at, uint64_t part) {
    return check(aclrtReduceAsync(static_cast<char*>(dst) + at, static_cast<const char*>(src) + at,
                                  part, kind->acl, known->acl, stream, nullptr),
                 "queueing a reduction");
  });
}

int32_t TaskState::record(void* stream, uint32_t peer, uint32_t index) const {
  return check(aclrtRecordNotify(peers_[flag(peer, index)], stream), "queueing a record");
}

int32_t TaskState::wait(void* stream, uint32_t peer, uint32_t index, uint32_t seconds) const {
  return check(aclrtWaitAndResetNotify(own_[flag(peer, index)], stream, seconds),
               "queueing a wait");
}

int32_t TaskState::mark(void* stream, uint32_t mark) {
  aclrtEvent& event = marks_[mark];
  if (event == nullptr) {
    const int32_t code =
        check(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC), "making an event");
    if (code != WEFT_OK) {
      event = nullptr;
      return code;
    }
  }
  return check(aclrtRecordEvent(event, stream), "recording an event");
}

int32_t TaskState::follow(void* stream, uint32_t mark) const {
  return check(aclrtStreamWaitEvent(stream, marks_[mark]), "queueing a wait for an event");
}

bool TaskState::passed(uint32_t mark) const {
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  const aclError error = aclrtQueryEventStatus(marks_[mark], &status);
  return error != ACL_SUCCESS || status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
}

int32_t TaskState::abort(void* stream) const {
  return check(aclrtStreamAbort(stream), "aborting a stream");
}

const weft_tasks kTasksTable = {
    WEFT_HEAD(weft_tasks), inline_reduces, share, new_stream, locate, hccs::copy,
    hccs::reduce,          record,         wait,  mark,       follow, passed,
    abort_stream};

}  // namespace weft::hccs
