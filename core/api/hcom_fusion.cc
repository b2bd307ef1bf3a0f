// SPDX-License-Identifier: Apache-2.0
// How the gradients of a group are cut into segments. Kept for those who cut them: the Python
// package asks by weft_grad_fusion().
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <variant>
#include <vector>

#include "api/export.hpp"
#include "api/guard.hpp"
#include "api/hcom.hpp"
#include "api/operators.hpp"
#include "hccl/hcom.h"
#include "weft/comm.h"

namespace weft::api {
namespace {

using Indices = std::vector<uint32_t>;
using Shares = std::vector<float>;
using Fusion = std::variant<Indices, Shares>;

const Shares kDefaultShares = {96.54F, 3.46F};

struct Fusions {
  std::mutex mutex;
  std::map<HcclComm, Fusion> by_comm;
};

Fusions& fusions() {
  static auto* instance = new Fusions;  // leaked: threads may outlive static destructors
  return *instance;
}

void check_indices(const uint32_t* list, uint32_t segments) {
  for (uint32_t i = 1; i < segments; ++i) {
    if (list[i] > list[i - 1]) continue;
    throw Error(HCCL_E_PARA, fmt::format("IdxList is not ascending: {} at {} follows {}", list[i],
                                         i, list[i - 1]));
  }
}

void check_shares(const float* list, uint32_t segments) {
  double sum = 0;
  for (uint32_t i = 0; i < segments; ++i) {
    if (!(list[i] >= 0)) {
      throw Error(HCCL_E_PARA,
                  fmt::format("sizeList has {} at {}; shares are percent, from 0 on", list[i], i));
    }
    sum += list[i];
  }
  // Of numbers that a float rounds, whose decimal values add up to 100.
  constexpr double kRounding = 100.0 / (1 << 24);
  if (std::abs(sum - 100) <= 1e-6 + kRounding) return;
  throw Error(HCCL_E_PARA, fmt::format("the shares of sizeList are {:.7g} together, not 100", sum));
}

/// Keeps the list of a group, which must be there.
template <class Value>
HcclResult set(const char* function, const char* group, uint32_t segments, const Value* list,
               const char* list_name, void (*check)(const Value*, uint32_t)) {
  return guard(function, [&] {
    const std::string name = group_name(group);
    require_all({{list_name, list}});
    require(segments != 0, HCCL_E_PARA, "segmentNum is 0");
    check(list, segments);
    const HcclComm comm = group_comm(name);
    const std::lock_guard lock(fusions().mutex);
    fusions().by_comm[comm] = std::vector<Value>(list, list + segments);
    return HCCL_SUCCESS;
  });
}

template <class Value>
void write(const std::vector<Value>& from, uint32_t room, Value* to) {
  if (room == 0) return;
  require_all({{"the list", to}});
  require(room >= from.size(), HCCL_E_PARA, "there is no room for all segments");
  std::copy(from.begin(), from.end(), to);
}

}  // namespace

void forget_fusion(HcclComm comm) {
  const std::lock_guard lock(fusions().mutex);
  fusions().by_comm.erase(comm);
}

}  // namespace weft::api

using weft::guard;

extern "C" {

WEFT_API HcclResult HcomSetGradFusionByIndex(const char* group, uint32_t segmentNum,
                                             const uint32_t* IdxList) {
  return weft::api::set("HcomSetGradFusionByIndex", group, segmentNum, IdxList, "IdxList",
                        weft::api::check_indices);
}

WEFT_API HcclResult HcomSetGradFusionBySize(const char* group, uint32_t segmentNum,
                                            const float* sizeList) {
  return weft::api::set("HcomSetGradFusionBySize", group, segmentNum, sizeList, "sizeList",
                        weft::api::check_shares);
}

WEFT_API HcclResult weft_grad_fusion(const char* group, uint32_t room, uint32_t* kind,
                                     uint32_t* segments, uint32_t* indices, float* sizes) {
  return guard("weft_grad_fusion", [&] {
    weft::api::require_all({{"kind", kind}, {"segments", segments}});
    const HcclComm comm = weft::api::group_comm(weft::api::group_name(group));
    const std::lock_guard lock(weft::api::fusions().mutex);
    const auto found = weft::api::fusions().by_comm.find(comm);
    const bool chosen = found != weft::api::fusions().by_comm.end();
    if (const auto* ends = chosen ? std::get_if<weft::api::Indices>(&found->second) : nullptr) {
      *kind = WEFT_FUSION_BY_INDEX;
      *segments = static_cast<uint32_t>(ends->size());
      weft::api::write(*ends, room, indices);
      return HCCL_SUCCESS;
    }
    const auto& shares =
        chosen ? std::get<weft::api::Shares>(found->second) : weft::api::kDefaultShares;
    *kind = chosen ? WEFT_FUSION_BY_SIZE : WEFT_FUSION_DEFAULT;
    *segments = static_cast<uint32_t>(shares.size());
    weft::api::write(shares, room, sizes);
    return HCCL_SUCCESS;
  });
}

}  // extern "C"
