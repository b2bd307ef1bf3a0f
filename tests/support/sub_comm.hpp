// SPDX-License-Identifier: Apache-2.0
// Sub communicators of a test's ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ranks.hpp"

namespace weft::test {

/// With a small buffer: tests make many.
HcclCommConfig small_config(const std::string& name = "");

/// A communicator of the whole group. Collective.
HcclComm join_small(Rank& rank);

/// All ranks of the group, in their order.
std::vector<uint32_t> everybody(const Rank& rank);

/// That of rank `self` of `parent`, which is in `members`.
HcclResult create_sub(HcclComm parent, std::vector<uint32_t> members, uint32_t self, uint64_t id,
                      HcclCommConfig config, HcclComm* sub);

/// The same, without a failure.
HcclComm sub_of(HcclComm parent, const std::vector<uint32_t>& members, uint32_t self,
                const HcclCommConfig& config = small_config("sub"));

/// How it ends for this rank: the code of its creation or of the first use. Nothing is left of it.
HcclResult meet_in_sub(HcclComm parent, const std::vector<uint32_t>& members, uint32_t self,
                       const HcclCommConfig& config);

}  // namespace weft::test
