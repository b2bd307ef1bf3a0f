// SPDX-License-Identifier: Apache-2.0
// Which devices there are, and the state of each.
#include <pthread.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "context.hpp"
#include "heap.hpp"
#include "ipc_server.hpp"
#include "vmm.hpp"

namespace weft::acl {
namespace {

constexpr int32_t kDefaultDevices = 8;
constexpr int32_t kMaxDevices = 1024;

std::atomic<bool> g_forked_in_use{false};

// The child shares the heaps' pages with its parent, but has none of its threads, and locks may be
// held by threads that do not exist.
void in_forked_child() noexcept {
  g_forked_in_use.store(true);
  t_thread = {};
  close_listener();
  close_after_fork();
}

/// The visible devices, or why there are none.
struct Devices {
  std::string error;
  int32_t on_host = 0;
  std::vector<int32_t> visible;  // ids on the host, ascending
  std::unique_ptr<Device[]> state;
};

bool parse_id(std::string_view text, int32_t* value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc{} && rest == end && *value >= 0;
}

void read_count(Devices& devices) {
  devices.on_host = kDefaultDevices;
  const char* text = std::getenv("WEFT_DEVICES");
  if (text == nullptr || *text == '\0') return;
  if (!parse_id(text, &devices.on_host) || devices.on_host < 1 || devices.on_host > kMaxDevices) {
    devices.error = "WEFT_DEVICES is \"" + std::string(text) + "\"; set it to a number from 1 to " +
                    std::to_string(kMaxDevices);
  }
}

void read_visible(Devices& devices) {
  const char* text = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
  if (text == nullptr || *text == '\0') {
    for (int32_t id = 0; id < devices.on_host; ++id) devices.visible.push_back(id);
    return;
  }
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    int32_t id = -1;
    if (!parse_id(rest.substr(0, comma), &id) || id >= devices.on_host ||
        (!devices.visible.empty() && id <= devices.visible.back())) {
      devices.error = "ASCEND_RT_VISIBLE_DEVICES is \"" + std::string(text) +
                      "\"; set it to ascending, comma-separated ids below " +
                      std::to_string(devices.on_host);
      return;
    }
    devices.visible.push_back(id);
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

Devices& devices() {
  static Devices& all = *[] {
    auto* made = new Devices;  // never destroyed: threads may still run during exit
    read_count(*made);
    if (made->error.empty()) read_visible(*made);
    if (made->error.empty()) made->state = std::make_unique<Device[]>(made->visible.size());
    return made;
  }();
  return all;
}

}  // namespace

int32_t device_count(const char* where) noexcept {
  const Devices& all = devices();
  if (all.error.empty()) return static_cast<int32_t>(all.visible.size());
  fail(ACL_ERROR_RT_NO_DEVICE, "%s: %s", where, all.error.c_str());
  return -1;
}

int32_t host_device_id(int32_t device) noexcept {
  return devices().visible[static_cast<size_t>(device)];
}

int32_t host_device_count() noexcept { return devices().on_host; }

aclError check_device(int64_t device, const char* where) noexcept {
  const int32_t count = device_count(where);
  if (count < 0) return ACL_ERROR_RT_NO_DEVICE;
  if (device >= 0 && device < count) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_INVALID_DEVICEID,
              "%s: device %lld does not exist; use 0 to %d, or set WEFT_DEVICES", where,
              static_cast<long long>(device), count - 1);
}

Device& device_at(int32_t device) { return devices().state[static_cast<size_t>(device)]; }

aclError refuse_after_fork(const char* where) noexcept {
  if (!g_forked_in_use.load(std::memory_order_relaxed)) return ACL_SUCCESS;
  return fail(ACL_ERROR_RT_DEV_SETUP_ERROR,
              "%s: this process was forked after the runtime was used; start ranks with exec or "
              "posix_spawn, or use ACL only after the fork",
              where);
}

aclError watch_forks(const char* where, aclError code) noexcept {
  static const int watched = pthread_atfork(lock_before_fork, unlock_after_fork, in_forked_child);
  if (watched == 0) return ACL_SUCCESS;
  return fail(code, "%s: no memory to watch for forks", where);
}

Heap* heap_of(int32_t device, const char* where, aclError code) noexcept {
  if (refuse_after_fork(where) != ACL_SUCCESS) return nullptr;
  Device& state = device_at(device);
  if (Heap* heap = state.heap.load(std::memory_order_acquire)) return heap;
  const std::lock_guard lock(state.mutex);
  if (Heap* heap = state.heap.load(std::memory_order_acquire)) return heap;
  if (watch_forks(where, code) != ACL_SUCCESS) return nullptr;
  std::string why;
  Heap* heap = Heap::create(device, &why);
  if (heap == nullptr) {
    fail(code, "%s: no memory for device %d: %s", where, device, why.c_str());
    return nullptr;
  }
  state.heap.store(heap, std::memory_order_release);
  return heap;
}

}  // namespace weft::acl
