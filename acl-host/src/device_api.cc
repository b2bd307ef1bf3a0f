// SPDX-License-Identifier: Apache-2.0
// Questions about devices, and access of devices to each other.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "context.hpp"
#include "heap.hpp"

namespace weft::acl {
namespace {

constexpr int64_t kNoSuperPod = 0x3FF;  // server id outside of a super pod
constexpr int32_t kDiesPerChip = 2;     // of the A3 family

/// Pairs (device, peer) with access enabled.
struct Peers {
  std::mutex mutex;
  std::set<std::pair<int32_t, int32_t>> enabled;
};

Peers& peers() {
  static auto& all = *new Peers;  // never destroyed: may be used during exit
  return all;
}

aclError find_peer(int32_t peer, const char* where, int32_t* device) noexcept {
  const Context* context = need_context(where);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  *device = context->device;
  if (peer == context->device) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: device %d is the current device, not a peer of it",
                where, peer);
  }
  return check_device(peer, where);
}

int64_t npu_arch() noexcept {
  return std::string_view(aclrtGetSocName()).starts_with("Ascend950") ? 3510 : 2201;
}

aclError get_info(int32_t device, aclrtDevAttr attribute, int64_t* value, const char* where) {
  switch (attribute) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM:
      *value = std::max<int64_t>(1, std::thread::hardware_concurrency());
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE: {
      const Heap* heap = heap_of(device, where, ACL_ERROR_RT_DEV_SETUP_ERROR);
      if (heap == nullptr) return ACL_ERROR_RT_DEV_SETUP_ERROR;
      *value = static_cast<int64_t>(heap->size());
      return ACL_SUCCESS;
    }
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
      *value = sysconf(_SC_LEVEL2_CACHE_SIZE);
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_PHY_CHIP_ID:
      *value = host_device_id(device) / kDiesPerChip;
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_SUPER_POD_SERVER_ID:
      *value = kNoSuperPod;
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_SMP_ID:
    case ACL_DEV_ATTR_IS_VIRTUAL:
      *value = 0;
      return ACL_SUCCESS;
    case ACL_DEV_ATTR_NPU_ARCH:
      *value = npu_arch();
      return ACL_SUCCESS;
    default:
      return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: a plain host has no attribute %d", where,
                  attribute);
  }
}

// Logical ids, the physical ids, are those of the host.
aclError user_to_host(int32_t device, int32_t* out, const char* where) noexcept {
  if (out == nullptr) return null_output(where, "the output");
  if (const aclError error = check_device(device, where)) return error;
  *out = host_device_id(device);
  return ACL_SUCCESS;
}

aclError check_host_id(int32_t id, int32_t* out, const char* where) noexcept {
  if (out == nullptr) return null_output(where, "the output");
  if (device_count(where) < 0) return ACL_ERROR_RT_NO_DEVICE;
  if (id >= 0 && id < host_device_count()) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_INVALID_DEVICEID, "%s: device %d does not exist on this host", where,
              id);
}

aclError host_to_user(int32_t id, int32_t* out, const char* where) noexcept {
  if (const aclError error = check_host_id(id, out, where)) return error;
  const int32_t count = device_count(where);
  for (int32_t device = 0; device < count; ++device) {
    if (host_device_id(device) != id) continue;
    *out = device;
    return ACL_SUCCESS;
  }
  return fail(ACL_ERROR_RT_INVALID_DEVICEID,
              "%s: device %d is not visible; see ASCEND_RT_VISIBLE_DEVICES", where, id);
}

aclError host_to_host(int32_t id, int32_t* out, const char* where) noexcept {
  if (const aclError error = check_host_id(id, out, where)) return error;
  *out = id;
  return ACL_SUCCESS;
}

}  // namespace

void enable_peer(int32_t device, int32_t peer) {
  const std::lock_guard lock(peers().mutex);
  peers().enabled.emplace(device, peer);
}

}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtGetDeviceCount(uint32_t* count) {
  if (count == nullptr) return null_output("aclrtGetDeviceCount", "count");
  const int32_t devices = device_count("aclrtGetDeviceCount");
  if (devices < 0) return ACL_ERROR_RT_NO_DEVICE;
  *count = static_cast<uint32_t>(devices);
  return ACL_SUCCESS;
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  if (runMode == nullptr) return null_output("aclrtGetRunMode", "runMode");
  *runMode = ACL_HOST;
  return ACL_SUCCESS;
}

aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value) {
  constexpr const char* kWhere = "aclrtGetDeviceInfo";
  if (value == nullptr) return null_output(kWhere, "value");
  if (const aclError error = check_device(deviceId, kWhere)) return error;
  return guarded(kWhere,
                 [&] { return get_info(static_cast<int32_t>(deviceId), attr, value, kWhere); });
}

aclError aclrtQueryDeviceStatus(int32_t deviceId, aclrtDeviceStatus* deviceStatus) {
  constexpr const char* kWhere = "aclrtQueryDeviceStatus";
  if (deviceStatus == nullptr) return null_output(kWhere, "deviceStatus");
  if (const aclError error = check_device(deviceId, kWhere)) return error;
  *deviceStatus = ACL_RT_DEVICE_STATUS_NORMAL;
  return ACL_SUCCESS;
}

// The host's id and the device's: the same device has the same id in every process of a host.
aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid* uuid) {
  constexpr const char* kWhere = "aclrtDeviceGetUuid";
  if (uuid == nullptr) return null_output(kWhere, "uuid");
  if (const aclError error = check_device(deviceId, kWhere)) return error;
  *uuid = aclrtUuid{};
  const int32_t device = host_device_id(deviceId);
  const long host = gethostid();
  std::memcpy(uuid->bytes, "weft", 4);
  std::memcpy(uuid->bytes + 4, &host, sizeof host);
  std::memcpy(uuid->bytes + 12, &device, sizeof device);
  return ACL_SUCCESS;
}

aclError aclrtGetDevicesTopo(uint32_t deviceId, uint32_t otherDeviceId, uint64_t* value) {
  constexpr const char* kWhere = "aclrtGetDevicesTopo";
  if (value == nullptr) return null_output(kWhere, "value");
  if (const aclError error = check_device(deviceId, kWhere)) return error;
  if (const aclError error = check_device(otherDeviceId, kWhere)) return error;
  *value = ACL_RT_DEVS_TOPOLOGY_HCCS;
  return ACL_SUCCESS;
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t* leastPriority, int32_t* greatestPriority) {
  constexpr const char* kWhere = "aclrtDeviceGetStreamPriorityRange";
  if (leastPriority == nullptr || greatestPriority == nullptr) {
    return null_output(kWhere, "an output");
  }
  *leastPriority = static_cast<int32_t>(kLowestPriority);
  *greatestPriority = 0;
  return ACL_SUCCESS;
}

aclError aclrtDeviceGetBareTgid(int32_t* pid) {
  if (pid == nullptr) return null_output("aclrtDeviceGetBareTgid", "pid");
  *pid = getpid();
  return ACL_SUCCESS;
}

aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid, int32_t* const logicDevId) {
  return user_to_host(userDevid, logicDevId, "aclrtGetLogicDevIdByUserDevId");
}

aclError aclrtGetUserDevIdByLogicDevId(const int32_t logicDevId, int32_t* const userDevid) {
  return host_to_user(logicDevId, userDevid, "aclrtGetUserDevIdByLogicDevId");
}

aclError aclrtGetPhyDevIdByLogicDevId(const int32_t logicDevId, int32_t* const phyDevId) {
  return host_to_host(logicDevId, phyDevId, "aclrtGetPhyDevIdByLogicDevId");
}

aclError aclrtGetLogicDevIdByPhyDevId(const int32_t phyDevId, int32_t* const logicDevId) {
  return host_to_host(phyDevId, logicDevId, "aclrtGetLogicDevIdByPhyDevId");
}

aclError aclrtGetPhyDevIdByUserDevId(const int32_t userDevid, int32_t* const phyDevId) {
  return user_to_host(userDevid, phyDevId, "aclrtGetPhyDevIdByUserDevId");
}

aclError aclrtGetUserDevIdByPhyDevId(const int32_t phyDevId, int32_t* const userDevid) {
  return host_to_user(phyDevId, userDevid, "aclrtGetUserDevIdByPhyDevId");
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  constexpr const char* kWhere = "aclrtSetDeviceSatMode";
  if (mode != ACL_RT_OVERFLOW_MODE_SATURATION && mode != ACL_RT_OVERFLOW_MODE_INFNAN) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: mode %d cannot be set; use 0 or 1", kWhere, mode);
  }
  const Context* context = need_context(kWhere);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  device_at(context->device).saturation = mode;
  return ACL_SUCCESS;
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  constexpr const char* kWhere = "aclrtGetDeviceSatMode";
  if (mode == nullptr) return null_output(kWhere, "mode");
  const Context* context = need_context(kWhere);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  *mode = static_cast<aclrtFloatOverflowMode>(device_at(context->device).saturation.load());
  return ACL_SUCCESS;
}

aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
  constexpr const char* kWhere = "aclrtDeviceCanAccessPeer";
  if (deviceId == peerDeviceId) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: device %d is not a peer of itself", kWhere, deviceId);
  }
  if (canAccessPeer == nullptr) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: canAccessPeer is NULL", kWhere);
  }
  if (const aclError error = check_device(deviceId, kWhere)) return error;
  if (const aclError error = check_device(peerDeviceId, kWhere)) return error;
  *canAccessPeer = 1;
  return ACL_SUCCESS;
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
  constexpr const char* kWhere = "aclrtDeviceEnablePeerAccess";
  if (flags != 0) {
    return fail(ACL_ERROR_FEATURE_UNSUPPORTED, "%s: flags is 0x%x; it must be 0", kWhere, flags);
  }
  int32_t device = 0;
  if (const aclError error = find_peer(peerDeviceId, kWhere, &device)) return error;
  return guarded(kWhere, [&] {
    enable_peer(device, peerDeviceId);
    return ACL_SUCCESS;
  });
}

aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) {
  constexpr const char* kWhere = "aclrtDeviceDisablePeerAccess";
  int32_t device = 0;
  if (const aclError error = find_peer(peerDeviceId, kWhere, &device)) return error;
  const std::lock_guard lock(peers().mutex);
  if (peers().enabled.erase({device, peerDeviceId}) != 0) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: access from device %d to %d is not enabled", kWhere,
              device, peerDeviceId);
}

aclError aclrtDevicePeerAccessStatus(int32_t deviceId, int32_t peerDeviceId, int32_t* status) {
  constexpr const char* kWhere = "aclrtDevicePeerAccessStatus";
  if (status == nullptr) return null_output(kWhere, "status");
  if (const aclError error = check_device(deviceId, kWhere)) return error;
  if (const aclError error = check_device(peerDeviceId, kWhere)) return error;
  const std::lock_guard lock(peers().mutex);
  *status = peers().enabled.contains({deviceId, peerDeviceId}) ? 1 : 0;
  return ACL_SUCCESS;
}
