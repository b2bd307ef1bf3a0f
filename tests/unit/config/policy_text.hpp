// SPDX-License-Identifier: Apache-2.0
// Policy texts for tests.
#pragma once

#include <string>

namespace weft::config {

/// A catch-all for every operation: the least that a policy must have. 40 lines.
inline const std::string kCatchAlls = R"(
[[rule]]
op = "all_reduce"
use = "toy.all_reduce"
[[rule]]
op = "broadcast"
use = "toy.broadcast"
[[rule]]
op = "all_gather"
use = "toy.all_gather"
[[rule]]
op = "reduce_scatter"
use = "toy.reduce_scatter"
[[rule]]
op = "all_to_all"
use = "toy.all_to_all"
[[rule]]
op = "barrier"
use = "toy.barrier"
[[rule]]
op = "reduce"
use = "toy.reduce"
[[rule]]
op = "scatter"
use = "toy.scatter"
[[rule]]
op = "all_gather_v"
use = "toy.all_gather_v"
[[rule]]
op = "reduce_scatter_v"
use = "toy.reduce_scatter_v"
[[rule]]
op = "all_to_all_v"
use = "toy.all_to_all_v"
)";

/// A policy that begins with `text`, whose lines are those of the result from 2 on.
inline std::string with(const std::string& text) { return "schema = 1\n" + text + kCatchAlls; }

/// A policy whose first rule is for all_reduce with the line `rest` (line 4).
inline std::string rule_with(const std::string& rest) {
  return with("[[rule]]\nop = \"all_reduce\"\n" + rest + "\nuse = \"toy.one\"\n");
}

}  // namespace weft::config
