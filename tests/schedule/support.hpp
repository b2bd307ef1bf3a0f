// SPDX-License-Identifier: Apache-2.0
// The plugins under test and their schedules.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "plugin/registry.hpp"
#include "schedule/check.hpp"
#include "weft/sdk.hpp"

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

/// The algorithm as the registry would keep it: "seeded.<name>".
plugin::Algorithm offered(const weft_algorithm& table);

/// One with a mistake in it.
template <void (*Fn)(const Problem&, weft::Schedule&)>
plugin::Algorithm seeded(uint32_t op, uint32_t flags = WEFT_ALGORITHM_REMOTE_WRITE,
                         Params params = {}) {
  return offered(weft::detail::declare<Fn>(
      {.name = "it", .summary = "", .op = op, .flags = flags, .params = params}));
}

/// True if 2..9 ranks show no fault; else prints the picture.
bool is_proved(const plugin::Algorithm& algorithm);

/// True if the smallest counter-example, with 2..9 ranks, has this fault and so many ranks, and its
/// picture contains the parts; else prints the picture.
bool is_refuted(const plugin::Algorithm& algorithm, Fault fault, uint32_t ranks,
                std::initializer_list<const char*> parts);

}  // namespace weft::schedule
