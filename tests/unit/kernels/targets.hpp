// SPDX-License-Identifier: Apache-2.0
// The kernels of each vector target this processor can run, with and without streaming stores.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "hwy/targets.h"
#include "src/dispatch.hpp"

namespace weft::kernels::test {

struct Variant {
  std::string name;
  Kernels kernels;
};

inline std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (int64_t targets = usable_targets(); targets != 0; targets &= targets - 1) {
    const int64_t target = targets & -targets;
    const std::string name = hwy::TargetName(target);
    Kernels kernels = make_kernels(target);
    kernels.stream_touched = std::numeric_limits<size_t>::max();
    all.push_back({name, kernels});
    kernels.stream_touched = kernels.stream_written = 0;
    all.push_back({name + " streaming", kernels});
  }
  return all;
}

}  // namespace weft::kernels::test
