// SPDX-License-Identifier: Apache-2.0
// Creation of notifies, and their tasks on streams.
#include "notify.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "context.hpp"
#include "heap.hpp"
#include "soc.hpp"
#include "stream.hpp"

namespace weft::acl {

constinit Pool<Notify, (1U << 20)> g_notifies;

namespace {

/// Words of one device that are free again, the longest unused one first, and how many were used.
struct DeviceBits {
  uint32_t used = 0;
  std::deque<uint32_t> free;
};

/// This process's bits: for each device as many as it may have.
struct Bits {
  std::mutex mutex;
  int file = -1;
  char* base = nullptr;
  size_t size = 0;
  uint32_t per_device = 0;
  std::vector<DeviceBits> devices;
};

Bits& bits() {
  static auto& all = *new Bits;  // never destroyed: threads may still run during exit
  return all;
}

uint32_t limit_per_device() noexcept {
  if (soc_is(kSocA2) || soc_is(kSocA3)) return 8192;
  if (soc_is(kSoc950)) return 65535;
  return soc_is("Ascend310B") ? 2048 : 1024;
}

// The caller holds the lock.
aclError open_bits(Bits& all, const char* where) {
  if (all.base != nullptr) return ACL_SUCCESS;
  const int32_t count = device_count(where);
  if (count < 0) return ACL_ERROR_RT_NO_DEVICE;
  all.per_device = limit_per_device();
  all.size = static_cast<size_t>(count) * all.per_device * kBitStride;
  std::string why;
  const int file = create_memory_file("weft-notifies", all.size, &why);
  void* base = file < 0 ? nullptr : map_file(file, 0, all.size);
  if (base == nullptr) {
    if (file >= 0) why = std::string("mapping the notifies: ") + strerror(errno);
    if (file >= 0) close(file);
    return fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: no memory for notifies: %s", where,
                why.c_str());
  }
  all.devices.resize(static_cast<size_t>(count));
  all.file = file;
  all.base = static_cast<char*>(base);
  return ACL_SUCCESS;
}

uint64_t* word_of(const Bits& all, int32_t device, uint32_t id) noexcept {
  const size_t index = static_cast<size_t>(device) * all.per_device + id;
  return reinterpret_cast<uint64_t*>(all.base + index * kBitStride);
}

aclError create(int32_t device, const char* where, aclrtNotify* output) {
  if (const aclError error = refuse_after_fork(where)) return error;
  Bits& all = bits();
  const std::lock_guard lock(all.mutex);
  if (const aclError error = open_bits(all, where)) return error;
  DeviceBits& own = all.devices[static_cast<size_t>(device)];
  const bool any = !own.free.empty() || own.used < all.per_device;
  Notify* notify = any ? g_notifies.acquire() : nullptr;
  if (notify == nullptr) {
    return fail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE,
                "%s: all %u notifies of device %d are in use; destroy some", where, all.per_device,
                device);
  }
  if (own.free.empty()) {
    notify->id = own.used++;
  } else {
    notify->id = own.free.front();
    own.free.pop_front();
  }
  uint64_t* word = word_of(all, device, notify->id);
  notify->bit = {word, std::atomic_ref(*word).load() >> 1, nullptr};
  notify->device = device;
  notify->exported = false;
  notify->life_state.store(Life::kLive, std::memory_order_release);
  *output = notify;
  return ACL_SUCCESS;
}

void destroy(Notify& notify) {
  end_export(notify);
  if (notify.bit.foreign != nullptr) {
    release_foreign(notify.bit.foreign);
  } else {
    Bits& all = bits();
    const std::lock_guard lock(all.mutex);
    std::atomic_ref(*notify.bit.word).store((notify.bit.generation + 1) << 1);
    all.devices[static_cast<size_t>(notify.device)].free.push_back(notify.id);
  }
  g_notifies.release(&notify);
}

struct Record {
  Bit bit;
};

struct Wait {
  Bit bit;
  int64_t timeout_ns;  // 0: none
  int64_t deadline;    // set when the stream reaches the task
};

bool change(const Bit& bit, uint64_t from, uint64_t to) noexcept {
  return std::atomic_ref(*bit.word).compare_exchange_strong(from, to, std::memory_order_acq_rel);
}

// A second record finds the bit set already.
int32_t step_record(Stream&, Task& task, Runner runner) noexcept {
  const auto& a = task.arguments<Record>();
  if (runner != Runner::kDiscard) change(a.bit, a.bit.clear(), a.bit.set());
  if (a.bit.foreign != nullptr) release_foreign(a.bit.foreign);
  return kDone;
}

int32_t step_reset(Stream&, Task& task, Runner runner) noexcept {
  const auto& a = task.arguments<Record>();
  if (runner != Runner::kDiscard) change(a.bit, a.bit.set(), a.bit.clear());
  return kDone;
}

int32_t step_wait(Stream& stream, Task& task, Runner runner) noexcept {
  auto& a = task.arguments<Wait>();
  if (runner == Runner::kDiscard || change(a.bit, a.bit.set(), a.bit.clear())) return kDone;
  if (std::atomic_ref(*a.bit.word).load(std::memory_order_relaxed) >> 1 != a.bit.generation) {
    return fail(ACL_ERROR_RT_INVALID_HANDLE,
                "aclrtWaitAndResetNotify: the notify that stream %d of device %d waits for was "
                "destroyed; synchronise the stream first",
                stream.id, stream.device.load());
  }
  if (a.timeout_ns == 0) return kAgain;
  const int64_t now = now_ns();
  if (a.deadline == 0) a.deadline = now + a.timeout_ns;
  if (now < a.deadline) return kAgain;
  return fail(
      ACL_ERROR_RT_TASK_TIMEOUT,
      "aclrtWaitAndResetNotify: stream %d of device %d has waited %lld s for a record; look "
      "at the stream or the process that records, or raise the timeout",
      stream.id, stream.device.load(), static_cast<long long>(a.timeout_ns / 1'000'000'000));
}

aclError check_waiter(const Notify& notify, const Stream& stream, const char* where) noexcept {
  if (notify.bit.foreign != nullptr) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: the notify is another process's and can only be recorded; wait for one of "
                "this process, which the other imports",
                where);
  }
  if (!notify.exported || stream.device == notify.device) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID,
              "%s: an exported notify is waited for on its own device %d, not on device %d", where,
              notify.device, stream.device.load());
}

aclError reset_all(aclrtNotify* handles, size_t count, const char* where) {
  Stream* stream = nullptr;
  if (const aclError error = find_own_stream(nullptr, where, &stream)) return error;
  std::vector<Record> resets;
  for (size_t i = 0; i < count; ++i) {
    aclError error = ACL_SUCCESS;
    const Notify* notify = find_notify(handles[i], where, &error);
    if (notify == nullptr) return error;
    if (notify->bit.foreign != nullptr) {
      return fail(ACL_ERROR_RT_PARAM_INVALID,
                  "%s: notify %zu is another process's and can only be recorded", where, i);
    }
    resets.push_back({notify->bit});
  }
  for (const Record& reset : resets) {
    if (const aclError error = enqueue(*stream, where, step_reset, reset)) return error;
  }
  return ACL_SUCCESS;
}

}  // namespace

Notify* find_notify(aclrtNotify handle, const char* where, aclError* error) noexcept {
  if (handle == nullptr) {
    *error = fail(ACL_ERROR_INVALID_PARAM, "%s: notify is NULL", where);
    return nullptr;
  }
  Notify* notify = g_notifies.find(handle);
  if (notify == nullptr) {
    *error = fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: %p is no notify, or it was destroyed", where,
                  handle);
  }
  return notify;
}

int bits_file() noexcept { return bits().file; }
size_t bits_size() noexcept { return bits().size; }
size_t bit_offset(const Notify& notify) noexcept {
  return static_cast<size_t>(reinterpret_cast<char*>(notify.bit.word) - bits().base);
}

}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtCreateNotify(aclrtNotify* notify, uint64_t flag) {
  constexpr const char* kWhere = "aclrtCreateNotify";
  if (notify == nullptr) return null_output(kWhere, "notify");
  if (flag > ACL_NOTIFY_DEVICE_USE_ONLY) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: flag 0x%llx must be 0 or 1", kWhere,
                static_cast<unsigned long long>(flag));
  }
  const Context* context = need_context(kWhere);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  return guarded(kWhere, [&] { return create(context->device, kWhere, notify); });
}

aclError aclrtDestroyNotify(aclrtNotify notify) {
  constexpr const char* kWhere = "aclrtDestroyNotify";
  if (const aclError error = refuse_after_fork(kWhere)) return error;
  aclError error = ACL_SUCCESS;
  Notify* found = find_notify(notify, kWhere, &error);
  if (found == nullptr) return error;
  if (!g_notifies.claim(found)) {
    return fail(ACL_ERROR_RT_INVALID_HANDLE,
                "%s: another thread destroys %p; destroy each notify once", kWhere, notify);
  }
  return guarded(kWhere, [&]() -> aclError {
    destroy(*found);
    return ACL_SUCCESS;
  });
}

aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream) {
  constexpr const char* kWhere = "aclrtRecordNotify";
  aclError error = ACL_SUCCESS;
  const Notify* found = find_notify(notify, kWhere, &error);
  if (found == nullptr) return error;
  Stream* target = nullptr;
  error = find_own_stream(stream, kWhere, &target);
  if (error != ACL_SUCCESS) return error;
  const Record record{found->bit};
  if (record.bit.foreign == nullptr) return enqueue(*target, kWhere, step_record, record);
  use_foreign(record.bit.foreign);
  error = enqueue(*target, kWhere, step_record, record);
  if (error != ACL_SUCCESS) release_foreign(record.bit.foreign);
  return error;
}

aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout) {
  constexpr const char* kWhere = "aclrtWaitAndResetNotify";
  aclError error = ACL_SUCCESS;
  const Notify* found = find_notify(notify, kWhere, &error);
  if (found == nullptr) return error;
  Stream* target = nullptr;
  error = find_own_stream(stream, kWhere, &target);
  if (error != ACL_SUCCESS) return error;
  error = check_waiter(*found, *target, kWhere);
  if (error != ACL_SUCCESS) return error;
  return enqueue(*target, kWhere, step_wait, Wait{found->bit, timeout * INT64_C(1'000'000'000), 0});
}

aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t* notifyId) {
  constexpr const char* kWhere = "aclrtGetNotifyId";
  if (notifyId == nullptr) return null_output(kWhere, "notifyId");
  aclError error = ACL_SUCCESS;
  const Notify* found = find_notify(notify, kWhere, &error);
  if (found != nullptr) *notifyId = found->id;
  return error;
}

aclError aclrtNotifyBatchReset(aclrtNotify* notifies, size_t num) {
  constexpr const char* kWhere = "aclrtNotifyBatchReset";
  if (notifies == nullptr || num == 0) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: notifies must not be NULL and num not 0", kWhere);
  }
  if (!soc_is(kSocA2) && !soc_is(kSocA3) && !soc_is(kSoc950)) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: %s does not have it", kWhere,
                aclrtGetSocName());
  }
  return guarded(kWhere, [&] { return reset_all(notifies, num, kWhere); });
}
