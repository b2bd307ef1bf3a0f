// SPDX-License-Identifier: Apache-2.0
// The calling thread's device, by way of the transport that a policy names.
#pragma once

#include <cstdint>
#include <string>

#include "comm/library.hpp"

namespace weft::api {

/// Device of the calling thread. Throws Error if none is set.
int32_t current_device(const config::Policy& policy);
/// The same without reading a policy; -1 as long as this process has had no communicator. Throws
/// Error.
int32_t current_device();
/// The same; -1 also if none is set.
int32_t device_of_thread() noexcept;
/// Throws Error (HCCL_E_PARA) for a name that no communicator of a device has.
[[noreturn]] void refuse_name(int32_t device, const std::string& name);
/// The number of a device of this process on the host. Throws Error.
int32_t physical_device(const config::Policy& policy, int32_t device);

/// A device that is current on this thread for a while.
class CurrentDevice {
 public:
  /// Throws Error if the device cannot be set.
  CurrentDevice(const config::Policy& policy, int32_t device);
  CurrentDevice(const comm::OpenTransport& transport, int32_t device);
  ~CurrentDevice();
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  const comm::OpenTransport transport_;
  const int32_t device_;
};

}  // namespace weft::api
