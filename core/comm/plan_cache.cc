// SPDX-License-Identifier: Apache-2.0
#include "comm/plan_cache.hpp"

#include <algorithm>
#include <utility>

namespace weft::comm {

exec::ExecPlan* PlanCache::insert(std::unique_ptr<exec::ExecPlan> plan, uint64_t done) {
  std::erase_if(retired_, [done](const auto& old) { return old->last_call <= done; });
  auto& set = sets_[index(plan->key)];
  Way& way = *std::min_element(set.begin(), set.end(),
                               [](const Way& a, const Way& b) { return a.used < b.used; });
  ++made_;
  if (way.plan != nullptr) ++evicted_;
  if (way.plan != nullptr && way.plan->last_call > done) retired_.push_back(std::move(way.plan));
  way.plan = std::move(plan);
  return use(way);
}

void PlanCache::forget(uint64_t done) {
  for (auto& set : sets_) {
    for (Way& way : set) {
      if (way.plan != nullptr && way.plan->last_call > done)
        retired_.push_back(std::move(way.plan));
      way.plan.reset();
    }
  }
  recent_ = nullptr;
}

}  // namespace weft::comm
