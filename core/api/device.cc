// SPDX-License-Identifier: Apache-2.0
#include "api/device.hpp"

#include <fmt/format.h>

#include "base/error.hpp"

namespace weft::api {

int32_t current_device(const config::Policy& policy) {
  const comm::OpenTransport transport =
      comm::Library::instance().transport(policy.settings().transport);
  int32_t device = -1;
  const int32_t code = transport.table->get_device(transport.context, &device);
  if (code != HCCL_SUCCESS) {
    throw Error(static_cast<HcclResult>(code),
                fmt::format("no current device ({}); call aclrtSetDevice on this thread first",
                            plugin::take_failure()));
  }
  return device;
}

int32_t physical_device(const config::Policy& policy, int32_t device) {
  const comm::OpenTransport transport =
      comm::Library::instance().transport(policy.settings().transport);
  int32_t physical = -1;
  const int32_t code = transport.table->physical_device(transport.context, device, &physical);
  if (code != HCCL_SUCCESS) throw Error(static_cast<HcclResult>(code), plugin::take_failure());
  return physical;
}

CurrentDevice::CurrentDevice(const config::Policy& policy, int32_t device)
    : transport_(comm::Library::instance().transport(policy.settings().transport)),
      device_(device) {
  const int32_t code = transport_.table->set_device(transport_.context, device_);
  if (code != HCCL_SUCCESS) throw Error(static_cast<HcclResult>(code), plugin::take_failure());
}

CurrentDevice::~CurrentDevice() { transport_.table->reset_device(transport_.context, device_); }

}  // namespace weft::api
