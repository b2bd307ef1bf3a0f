// SPDX-License-Identifier: Apache-2.0
#include "bench/work.hpp"

#include <algorithm>

namespace weft::tools {
namespace {

void compute(uint64_t steps) {
  uint64_t number = steps;
  for (uint64_t i = 0; i < steps; ++i) {
    number = number * 6364136223846793005 + 1442695040888963407;
    asm volatile("" : "+r"(number));  // each of them is done
  }
}

}  // namespace

Work::Work() {
  constexpr uint64_t kSteps = 100000;
  auto shortest = std::chrono::duration<double>::max();
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    compute(kSteps);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    shortest = std::min(shortest, took);
  }
  steps_a_second_ = double(kSteps) / shortest.count();
}

void Work::set(std::chrono::duration<double> time) {
  steps_ = uint64_t(time.count() * steps_a_second_);
}

void Work::run() const { compute(steps_); }

}  // namespace weft::tools
