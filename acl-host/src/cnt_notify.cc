// SPDX-License-Identifier: Apache-2.0
// Count notifies: 32-bit values that streams change and wait for. Only the 950 family has them.
#include <atomic>
#include <cstdint>

#include "context.hpp"
#include "pool.hpp"
#include "soc.hpp"
#include "stream.hpp"

namespace weft::acl {
namespace {

constexpr size_t kPerDevice = 65535;

/// The memory of a pool stays, so a queued task may look at one that is no more: then the upper
/// half of the word, which counts the notifies the slot has been, is another.
struct alignas(64) CntNotify {
  std::atomic<Life> life_state{Life::kDead};
  CntNotify* next_free = nullptr;
  std::atomic<uint64_t> word{0};  // upper half: life; lower half: value
  int32_t device = 0;
  uint32_t id = 0;
};

constinit Pool<CntNotify, (1U << 20)> g_cnt_notifies;

struct Target {
  CntNotify* notify;
  uint32_t life;
};

struct Record {
  Target target;
  uint32_t value;
  aclrtCntNotifyRecordMode mode;
};

struct Wait {
  Target target;
  aclrtCntNotifyWaitInfo info;
  int64_t deadline;  // set when the stream reaches the task
};

uint32_t life_of(uint64_t word) noexcept { return static_cast<uint32_t>(word >> 32); }
uint32_t value_of(uint64_t word) noexcept { return static_cast<uint32_t>(word); }
uint64_t make_word(uint32_t life, uint32_t value) noexcept { return uint64_t{life} << 32 | value; }

uint32_t changed(uint32_t old, uint32_t value, aclrtCntNotifyRecordMode mode) noexcept {
  switch (mode) {
    case ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE:
      return old + value;
    case ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE:
      return old | value;
    case ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE:
      return old & value;
    case ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE:
      break;
  }
  return value;
}

bool satisfied(uint32_t found, const aclrtCntNotifyWaitInfo& info) noexcept {
  switch (info.mode) {
    case ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE:
      return found < info.value;
    case ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE:
      return found == info.value;
    case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE:
      return found > info.value;
    case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE:
      return found >= info.value;
    case ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE:
      break;
  }
  return (found & info.value) == info.value;
}

int32_t step_record(Stream&, Task& task, Runner runner) noexcept {
  if (runner == Runner::kDiscard) return kDone;
  const auto& a = task.arguments<Record>();
  uint64_t word = a.target.notify->word.load(std::memory_order_acquire);
  while (life_of(word) == a.target.life &&
         !a.target.notify->word.compare_exchange_weak(
             word, make_word(a.target.life, changed(value_of(word), a.value, a.mode)),
             std::memory_order_acq_rel)) {
  }
  return kDone;
}

int32_t step_wait(Stream& stream, Task& task, Runner runner) noexcept {
  if (runner == Runner::kDiscard) return kDone;
  auto& a = task.arguments<Wait>();
  uint64_t word = a.target.notify->word.load(std::memory_order_acquire);
  while (life_of(word) == a.target.life && satisfied(value_of(word), a.info)) {
    const uint64_t after = a.info.isClear != 0 ? make_word(a.target.life, 0) : word;
    if (a.target.notify->word.compare_exchange_weak(word, after, std::memory_order_acq_rel)) {
      return kDone;
    }
  }
  if (life_of(word) != a.target.life) {
    return fail(ACL_ERROR_RT_INVALID_HANDLE,
                "aclrtCntNotifyWaitWithTimeout: the notify that stream %d of device %d waits for "
                "was destroyed; synchronise the stream first",
                stream.id, stream.device.load());
  }
  if (a.info.timeout == 0) return kAgain;
  const int64_t now = now_ns();
  if (a.deadline == 0) a.deadline = now + a.info.timeout * INT64_C(1'000'000'000);
  if (now < a.deadline) return kAgain;
  return fail(ACL_ERROR_RT_TASK_TIMEOUT,
              "aclrtCntNotifyWaitWithTimeout: stream %d of device %d has waited %u s; the value is "
              "%u",
              stream.id, stream.device.load(), a.info.timeout, value_of(word));
}

CntNotify* find(aclrtCntNotify handle, const char* where, aclError* error) noexcept {
  if (handle == nullptr) {
    *error = fail(ACL_ERROR_INVALID_PARAM, "%s: cntNotify is NULL", where);
    return nullptr;
  }
  CntNotify* notify = g_cnt_notifies.find(handle);
  if (notify == nullptr) {
    *error = fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: %p is no count notify, or it was destroyed",
                  where, handle);
  }
  return notify;
}

aclError find_both(aclrtCntNotify handle, aclrtStream stream_handle, const char* where,
                   Target* target, Stream** stream) noexcept {
  aclError error = ACL_SUCCESS;
  target->notify = find(handle, where, &error);
  if (target->notify == nullptr) return error;
  target->life = life_of(target->notify->word.load());
  return find_own_stream(stream_handle, where, stream);
}

aclError bad_mode(int mode, const char* where) noexcept {
  return fail(ACL_ERROR_INVALID_PARAM, "%s: mode %d does not exist", where, mode);
}

}  // namespace
}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtCntNotifyCreate(aclrtCntNotify* cntNotify, uint64_t flag) {
  constexpr const char* kWhere = "aclrtCntNotifyCreate";
  if (cntNotify == nullptr) return null_output(kWhere, "cntNotify");
  if (flag != 0) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: flag 0x%llx must be 0", kWhere,
                static_cast<unsigned long long>(flag));
  }
  if (!soc_is(kSoc950)) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: %s has no count notifies; use %s", kWhere,
                aclrtGetSocName(), "aclrtCreateNotify");
  }
  const Context* context = need_context(kWhere);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  std::atomic<size_t>& used = device_at(context->device).cnt_notifies;
  CntNotify* notify = used.fetch_add(1) < kPerDevice ? g_cnt_notifies.acquire() : nullptr;
  if (notify == nullptr) {
    used.fetch_sub(1);
    return fail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE,
                "%s: all %zu count notifies of device %d are in use; destroy some", kWhere,
                kPerDevice, context->device);
  }
  notify->device = context->device;
  notify->id = static_cast<uint32_t>(g_cnt_notifies.index(notify));
  notify->life_state.store(Life::kLive, std::memory_order_release);
  *cntNotify = notify;
  return ACL_SUCCESS;
}

aclError aclrtCntNotifyDestroy(aclrtCntNotify cntNotify) {
  constexpr const char* kWhere = "aclrtCntNotifyDestroy";
  aclError error = ACL_SUCCESS;
  CntNotify* notify = find(cntNotify, kWhere, &error);
  if (notify == nullptr) return error;
  if (!g_cnt_notifies.claim(notify)) {
    return fail(ACL_ERROR_RT_INVALID_HANDLE,
                "%s: another thread destroys %p; destroy each notify once", kWhere, cntNotify);
  }
  notify->word.store(make_word(life_of(notify->word.load()) + 1, 0));
  device_at(notify->device).cnt_notifies.fetch_sub(1);
  g_cnt_notifies.release(notify);
  return ACL_SUCCESS;
}

aclError aclrtCntNotifyRecord(aclrtCntNotify cntNotify, aclrtStream stream,
                              aclrtCntNotifyRecordInfo* info) {
  constexpr const char* kWhere = "aclrtCntNotifyRecord";
  if (info == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: info is NULL", kWhere);
  if (info->mode != ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE &&
      info->mode != ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE &&
      info->mode != ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE &&
      info->mode != ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE) {
    return bad_mode(info->mode, kWhere);
  }
  Record record{{}, info->value, info->mode};
  Stream* target = nullptr;
  if (const aclError error = find_both(cntNotify, stream, kWhere, &record.target, &target)) {
    return error;
  }
  return enqueue(*target, kWhere, step_record, record);
}

aclError aclrtCntNotifyWaitWithTimeout(aclrtCntNotify cntNotify, aclrtStream stream,
                                       aclrtCntNotifyWaitInfo* info) {
  constexpr const char* kWhere = "aclrtCntNotifyWaitWithTimeout";
  if (info == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: info is NULL", kWhere);
  if (info->mode < ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE ||
      info->mode > ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE) {
    return bad_mode(info->mode, kWhere);
  }
  Wait wait{{}, *info, 0};
  Stream* target = nullptr;
  if (const aclError error = find_both(cntNotify, stream, kWhere, &wait.target, &target)) {
    return error;
  }
  return enqueue(*target, kWhere, step_wait, wait);
}

aclError aclrtCntNotifyReset(aclrtCntNotify cntNotify, aclrtStream stream) {
  constexpr const char* kWhere = "aclrtCntNotifyReset";
  Record record{{}, 0, ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE};
  Stream* target = nullptr;
  if (const aclError error = find_both(cntNotify, stream, kWhere, &record.target, &target)) {
    return error;
  }
  return enqueue(*target, kWhere, step_record, record);
}

aclError aclrtCntNotifyGetId(aclrtCntNotify cntNotify, uint32_t* notifyId) {
  constexpr const char* kWhere = "aclrtCntNotifyGetId";
  if (notifyId == nullptr) return null_output(kWhere, "notifyId");
  aclError error = ACL_SUCCESS;
  const CntNotify* notify = find(cntNotify, kWhere, &error);
  if (notify != nullptr) *notifyId = notify->id;
  return error;
}
