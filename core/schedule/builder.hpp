// SPDX-License-Identifier: Apache-2.0
// Calls an algorithm's emit function and keeps what it writes.
#pragma once

#include <cstdint>
#include <span>

#include "schedule/schedule.hpp"

namespace weft::schedule {

/// The schedule of shape.rank. `name` is the algorithm's full name, for messages; `params` has one
/// value per declared parameter. Throws Error (HCCL_E_INTERNAL or the algorithm's code) when a step
/// is malformed or emit fails: the text names algorithm, shape, step and what is wrong with it.
[[nodiscard]] Schedule emit(const weft_algorithm& algorithm, const char* name, const Shape& shape,
                            std::span<const int64_t> params);

}  // namespace weft::schedule
