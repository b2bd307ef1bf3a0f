// SPDX-License-Identifier: Apache-2.0
// The plugins under test and their schedules.
#pragma once

#include <string>
#include <vector>

#include "plugin/registry.hpp"
#include "schedule/check.hpp"

namespace weft::schedule {

/// The plugins of this tree and the example, loaded once.
const plugin::Registry& plugins();

/// Throws if there is none of this name.
const plugin::Algorithm& algorithm(const std::string& full_name);

/// Default values of the parameters.
std::vector<int64_t> defaults(const plugin::Algorithm& algorithm);

/// The schedules of ranks 0..n-1 with default parameters.
std::vector<Schedule> emit_all(const weft_algorithm& algorithm, uint32_t ranks, uint32_t root = 0);
std::vector<Schedule> emit_all(const std::string& full_name, uint32_t ranks, uint32_t root = 0);

/// True if the report is of this kind and its text contains `part`; else prints the text.
bool is_rejected(const Report& report, Fault fault, const std::string& part = "");

}  // namespace weft::schedule
