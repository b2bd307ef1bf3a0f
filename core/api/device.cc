// SPDX-License-Identifier: Apache-2.0
#include "api/device.hpp"

#include <fmt/format.h>

#include <optional>

#include "base/error.hpp"

namespace weft::api {

namespace {

int32_t ask(const comm::OpenTransport& transport) {
  int32_t device = -1;
  const int32_t code = transport.table->get_device(transport.context, &device);
  if (code != HCCL_SUCCESS) {
    throw Error(static_cast<HcclResult>(code),
                fmt::format("no current device ({}); call aclrtSetDevice on this thread first",
                            plugin::take_failure()));
  }
  return device;
}

}  // namespace

int32_t current_device(const config::Policy& policy) {
  return ask(comm::Library::instance().transport(policy.settings().transport));
}

int32_t current_device() {
  const std::optional<comm::OpenTransport> transport = comm::Library::instance().any_transport();
  return transport ? ask(*transport) : -1;
}

int32_t physical_device(const config::Policy& policy, int32_t device) {
  const comm::OpenTransport transport =
      comm::Library::instance().transport(policy.settings().transport);
  int32_t physical = -1;
  const int32_t code = transport.table->physical_device(transport.context, device, &physical);
  if (code != HCCL_SUCCESS) throw Error(static_cast<HcclResult>(code), plugin::take_failure());
  return physical;
}

int32_t device_of_thread() noexcept {
  try {
    return current_device();
  } catch (const std::exception&) {
    return -1;
  }
}

void refuse_name(int32_t device, const std::string& name) {
  if (device < 0) {
    throw Error(HCCL_E_PARA, fmt::format("there is no communicator named '{}'; this process has "
                                         "had none at all",
                                         name));
  }
  throw Error(HCCL_E_PARA, fmt::format("device {} has no communicator named '{}'", device, name));
}

CurrentDevice::CurrentDevice(const config::Policy& policy, int32_t device)
    : CurrentDevice(comm::Library::instance().transport(policy.settings().transport), device) {}

CurrentDevice::CurrentDevice(const comm::OpenTransport& transport, int32_t device)
    : transport_(transport), device_(device) {
  const int32_t code = transport_.table->set_device(transport_.context, device_);
  if (code != HCCL_SUCCESS) throw Error(static_cast<HcclResult>(code), plugin::take_failure());
}

CurrentDevice::~CurrentDevice() { transport_.table->reset_device(transport_.context, device_); }

}  // namespace weft::api
