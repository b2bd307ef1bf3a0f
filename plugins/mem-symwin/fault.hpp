// SPDX-License-Identifier: Apache-2.0
// How functions of this plugin fail.
#pragma once

#include "memory-common/fault.hpp"

namespace weft::symwin {

using memory::acl_fault;
using memory::demand;
using memory::demand_acl;
using memory::Fault;
using memory::guarded;

}  // namespace weft::symwin
