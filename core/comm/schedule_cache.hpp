// SPDX-License-Identifier: Apache-2.0
// The schedules of one communicator: what algorithms said, which does not depend on counts. So a
// call with a new count is bound anew, but asks no plugin. Bounded: the least recently used one
// makes room.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plugin/registry.hpp"
#include "schedule/partners.hpp"
#include "schedule/schedule.hpp"

namespace weft::comm {

class ScheduleCache {
 public:
  /// Valid until the next call. Throws Error.
  const schedule::Schedule& get(const plugin::Algorithm& algorithm, const schedule::Shape& shape,
                                std::span<const int64_t> params);

  /// Asks for the schedules of all other ranks, once.
  schedule::Exposure exposure(const plugin::Algorithm& algorithm, const schedule::Shape& shape,
                              std::span<const int64_t> params);

  static constexpr size_t kMost = 16;

 private:
  struct Entry {
    const plugin::Algorithm* algorithm = nullptr;
    uint32_t root = 0;
    std::vector<int64_t> params;
    schedule::Schedule schedule;
    std::optional<schedule::Exposure> exposure;
    uint64_t used = 0;
  };

  Entry& find(const plugin::Algorithm& algorithm, const schedule::Shape& shape,
              std::span<const int64_t> params);

  std::vector<Entry> entries_;
  uint64_t clock_ = 0;
};

}  // namespace weft::comm
