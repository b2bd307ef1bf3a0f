// SPDX-License-Identifier: Apache-2.0
#include "sub_comm.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace weft::test {

HcclCommConfig small_config(const std::string& name) {
  HcclCommConfig config;
  memset(static_cast<void*>(&config), 0x5A, sizeof config);  // as uninitialised memory
  HcclCommConfigInit(&config);
  config.hcclBufferSize = 1;
  memcpy(config.hcclCommName, name.c_str(), name.size() + 1);
  return config;
}

HcclComm join_small(Rank& rank) {
  const HcclCommConfig config = small_config();
  return rank.join(&config);
}

std::vector<uint32_t> everybody(const Rank& rank) {
  std::vector<uint32_t> all(rank.ranks());
  std::iota(all.begin(), all.end(), 0);
  return all;
}

HcclResult create_sub(HcclComm parent, std::vector<uint32_t> members, uint32_t self, uint64_t id,
                      HcclCommConfig config, HcclComm* sub) {
  const auto place = std::find(members.begin(), members.end(), self) - members.begin();
  return HcclCreateSubCommConfig(&parent, static_cast<uint32_t>(members.size()), members.data(), id,
                                 static_cast<uint32_t>(place), &config, sub);
}

HcclComm sub_of(HcclComm parent, const std::vector<uint32_t>& members, uint32_t self,
                const HcclCommConfig& config) {
  HcclComm sub = nullptr;
  ok(create_sub(parent, members, self, 1, config, &sub));
  return sub;
}

HcclResult meet_in_sub(HcclComm parent, const std::vector<uint32_t>& members, uint32_t self,
                       const HcclCommConfig& config) {
  HcclComm sub = nullptr;
  const HcclResult code = create_sub(parent, members, self, 1, config, &sub);
  if (code != HCCL_SUCCESS) return code;
  const HcclResult end = HcclBarrier(sub, Stream());
  ok(HcclCommDestroy(sub));
  return end;
}

}  // namespace weft::test
