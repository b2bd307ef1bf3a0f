// SPDX-License-Identifier: Apache-2.0
// What the tests of symmetric windows and of zero-copy ranges share: memory that programs make of
// their own, and that operators use where it lies.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "hccl/hccl_comm.h"
#include "policy_file.hpp"
#include "ranks.hpp"
#include "vmm.hpp"
#include "weft/comm.h"

namespace weft::test {

inline constexpr size_t kUnit = kPhysicalUnit;

struct Shape {
  uint32_t ranks;
  Layout layout;
};

inline std::string shape_name(const testing::TestParamInfo<Shape>& one) {
  return std::to_string(one.param.ranks) + layout_name(one.param.layout);
}

/// Three ranks of communicators that soon give up waiting for a rank that does not come.
inline void run_impatient(Layout layout, const std::function<void(Rank&)>& body) {
  const PolicyFile policy(policy_text({}, "[control]\nconnect_timeout = \"3s\"\n"));
  GroupOptions options;
  options.environment = policy.environment();
  run_ranks(3, layout, body, options);
}

/// Two ranks with a chip that has neither windows nor ranges: Ascend910B1.
inline void run_on_other_chip(const std::function<void(Rank&)>& body) {
  GroupOptions options;
  options.environment = {{"WEFT_SOC_NAME", "Ascend910B1"}};
  run_ranks(2, Layout::kProcesses, body, options);
}

inline weft_call_info call_info(HcclComm comm) {
  weft_call_info info{};
  info.head = WEFT_HEAD(weft_call_info);
  ok(weft_comm_last_call(comm, &info));
  return info;
}

/// That the buffers of the last call went this way, all that it had. WEFT_WAY_NONE: it had none.
inline void went_by(HcclComm comm, uint32_t way,
                    const std::source_location& where = std::source_location::current()) {
  const weft_call_info info = call_info(comm);
  const bool good = (info.in_way == way || info.in_way == WEFT_WAY_NONE) &&
                    (info.out_way == way || info.out_way == WEFT_WAY_NONE) &&
                    (info.in_way == way || info.out_way == way);
  check(good,
        std::string("in: ") + weft_way_name(info.in_way) + " " + info.in_why +
            ", out: " + weft_way_name(info.out_way) + " " + info.out_why,
        where);
}

}  // namespace weft::test
