// SPDX-License-Identifier: Apache-2.0
// HcclCommConfig, environment and policy, brought together into the options of a communicator.
#pragma once

#include "comm/communicator.hpp"
#include "hccl/hccl_types.h"

namespace weft::api {

/// Options from environment, policy and built-in values. Throws Error (HCCL_E_PARA).
[[nodiscard]] comm::Options default_options(const config::Policy& policy);

/// Lets a caller's config override `options`. Structs of every header generation are taken: a field
/// exists if `size` covers it and `version` knows it. Throws Error (HCCL_E_PARA), also for null.
void apply_config(const HcclCommConfig* config, comm::Options& options);

/// Logs what HCCL_ALGO or hcclAlgo ask for in vain.
void warn_of_idle_wishes(const config::HcclAlgo& algo, const config::Policy& policy);

}  // namespace weft::api
