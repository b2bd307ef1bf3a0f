// SPDX-License-Identifier: Apache-2.0
// Suspending communicators and asking for their state.
#include <fmt/format.h>

#include <optional>

#include "api/device.hpp"
#include "api/export.hpp"
#include "api/operators.hpp"
#include "api/state_callbacks.hpp"
#include "hccl/hccl_comm.h"

namespace weft::api {
namespace {

HcclCommStatus status_of(const comm::Communicator& group) {
  if (group.health() != HCCL_SUCCESS) return HCCL_COMM_STATUS_INVALID;
  return group.suspended() ? HCCL_COMM_STATUS_SUSPENDING : HCCL_COMM_STATUS_READY;
}

/// Of the communicator of that name on the current device. If that has several of its ranks, the
/// first that is not ready counts.
HcclCommStatus status_named(const char* name) {
  const int32_t device = current_device();
  std::optional<HcclCommStatus> status;
  for_each([&](const NameUse& use, const comm::Communicator* made, const Joining* joining) {
    if (use.name != name || use.device != device) return;
    if (status.value_or(HCCL_COMM_STATUS_READY) != HCCL_COMM_STATUS_READY) return;
    if (made != nullptr) status = status_of(*made);
    if (joining != nullptr) {
      status =
          joining->facts.health == HCCL_SUCCESS ? HCCL_COMM_STATUS_READY : HCCL_COMM_STATUS_INVALID;
    }
  });
  if (status) return *status;
  refuse_name(device, name);
}

void resume(HcclComm comm) {
  static_cast<void>(communicator(comm));  // its ranks meet first, without keeping others waiting
  const StateChange change(comm);
  comm::Communicator& group = communicator(comm);
  if (!group.suspended()) return;
  group.require_recovered();
  change.tell(HCCL_COMM_STATE_PHASE_RESUME_PRE);
  group.resume();
  change.tell(HCCL_COMM_STATE_PHASE_RESUME_POST);
}

}  // namespace
}  // namespace weft::api

using weft::api::communicator;
using weft::api::require_all;

extern "C" {

WEFT_API HcclResult HcclCommSuspend(HcclComm comm) {
  return weft::guard("HcclCommSuspend", [&] {
    require_all({{"comm", comm}});
    communicator(comm).suspend();
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclCommResume(HcclComm comm) {
  return weft::guard("HcclCommResume", [&] {
    require_all({{"comm", comm}});
    weft::api::resume(comm);
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclCommGetStatus(const char* commId, HcclCommStatus* status) {
  return weft::guard("HcclCommGetStatus", [&] {
    require_all({{"commId", commId}, {"status", status}});
    *status = weft::api::status_named(commId);
    return HCCL_SUCCESS;
  });
}

}  // extern "C"
