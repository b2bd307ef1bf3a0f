// SPDX-License-Identifier: Apache-2.0
// Groups by name (hccl/hcom.h): what the functions for groups and those for gradients share.
#pragma once

#include <string>

#include "hccl/hccl_types.h"

namespace weft::api {

inline constexpr const char* kWorldGroup = "hccl_world_group";

/// The name that `group` stands for. Throws Error (HCCL_E_PARA) for one that is empty or too long.
std::string group_name(const char* group);

/// The communicator of that name on the current device. Throws Error (HCCL_E_NOT_FOUND).
HcclComm group_comm(const std::string& name);

/// What is known of a communicator that is about to go: its handle will be another one's.
void forget_group(HcclComm comm);
void forget_fusion(HcclComm comm);

}  // namespace weft::api
