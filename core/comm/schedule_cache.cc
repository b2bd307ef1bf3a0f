// SPDX-License-Identifier: Apache-2.0
#include "comm/schedule_cache.hpp"

#include <algorithm>
#include <utility>

#include "schedule/builder.hpp"

namespace weft::comm {

const schedule::Schedule& ScheduleCache::get(const plugin::Algorithm& algorithm,
                                             const schedule::Shape& shape,
                                             std::span<const int64_t> params) {
  return find(algorithm, shape, params).schedule;
}

schedule::Exposure ScheduleCache::exposure(const plugin::Algorithm& algorithm,
                                           const schedule::Shape& shape,
                                           std::span<const int64_t> params) {
  Entry& entry = find(algorithm, shape, params);
  if (!entry.exposure) {
    entry.exposure = schedule::exposure(shape, [&](const schedule::Shape& of) {
      return schedule::emit(algorithm.table, algorithm.name.c_str(), of, params);
    });
  }
  return *entry.exposure;
}

ScheduleCache::Entry& ScheduleCache::find(const plugin::Algorithm& algorithm,
                                          const schedule::Shape& shape,
                                          std::span<const int64_t> params) {
  ++clock_;
  for (Entry& entry : entries_) {
    if (entry.algorithm != &algorithm || entry.root != shape.root) continue;
    if (!std::equal(params.begin(), params.end(), entry.params.begin(), entry.params.end())) {
      continue;
    }
    entry.used = clock_;
    return entry;
  }
  Entry made{&algorithm, shape.root, {params.begin(), params.end()}, {}, {}, clock_};
  made.schedule = schedule::emit(algorithm.table, algorithm.name.c_str(), shape, params);
  if (entries_.size() < kMost) return entries_.emplace_back(std::move(made));
  const auto by_use = [](const Entry& a, const Entry& b) { return a.used < b.used; };
  Entry& oldest = *std::min_element(entries_.begin(), entries_.end(), by_use);
  oldest = std::move(made);
  return oldest;
}

}  // namespace weft::comm
