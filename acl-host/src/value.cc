// SPDX-License-Identifier: Apache-2.0
// Values in memory that a stream writes, or waits for.
#include <atomic>

#include "memory.hpp"
#include "stream.hpp"

namespace weft::acl {
namespace {

struct Write {
  uint64_t* address;
  uint64_t value;
};

struct Await {
  uint64_t* address;
  uint64_t value;
  uint32_t condition;
};

int32_t step_write(Stream&, Task& task, Runner runner) noexcept {
  const auto& a = task.arguments<Write>();
  if (runner != Runner::kDiscard) {
    std::atomic_ref(*a.address).store(a.value, std::memory_order_release);
  }
  return kDone;
}

bool satisfied(uint64_t found, uint64_t value, uint32_t condition) noexcept {
  switch (condition) {
    case ACL_STREAM_WAIT_VALUE_GEQ:
      return found >= value;
    case ACL_STREAM_WAIT_VALUE_EQ:
      return found == value;
    case ACL_STREAM_WAIT_VALUE_AND:
      return (found & value) != 0;
    default:
      return ~(found | value) != 0;  // NOR
  }
}

int32_t step_await(Stream&, Task& task, Runner runner) noexcept {
  if (runner == Runner::kDiscard) return kDone;
  const auto& a = task.arguments<Await>();
  const uint64_t found = std::atomic_ref(*a.address).load(std::memory_order_acquire);
  return satisfied(found, a.value, a.condition) ? kDone : kAgain;
}

aclError check(const void* address, uint32_t flag, uint32_t last_flag, const char* where) noexcept {
  if (address == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: devAddr is NULL", where);
  if (flag > last_flag) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: flag %u does not exist", where, flag);
  }
  if (reinterpret_cast<uintptr_t>(address) % sizeof(uint64_t) != 0) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: devAddr %p must be a multiple of 8", where,
                address);
  }
  return need_known(address, sizeof(uint64_t), true, where, "devAddr");
}

}  // namespace
}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtValueWrite(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
  constexpr const char* kWhere = "aclrtValueWrite";
  if (const aclError error = check(devAddr, flag, 0, kWhere)) return error;
  Stream* target = nullptr;
  if (const aclError error = find_own_stream(stream, kWhere, &target)) return error;
  return enqueue(*target, kWhere, step_write, Write{static_cast<uint64_t*>(devAddr), value});
}

aclError aclrtValueWait(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
  constexpr const char* kWhere = "aclrtValueWait";
  if (const aclError error = check(devAddr, flag, ACL_STREAM_WAIT_VALUE_NOR, kWhere)) return error;
  Stream* target = nullptr;
  if (const aclError error = find_own_stream(stream, kWhere, &target)) return error;
  return enqueue(*target, kWhere, step_await, Await{static_cast<uint64_t*>(devAddr), value, flag});
}
