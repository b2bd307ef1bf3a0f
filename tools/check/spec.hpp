// SPDX-License-Identifier: Apache-2.0
// What `weft check` is asked for, and what it found out.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "plugin/registry.hpp"
#include "proof/cost.hpp"
#include "proof/prove.hpp"

namespace weft::tools {

inline constexpr uint32_t kMostCheckedRanks = 256;

struct CheckSpec {
  std::vector<uint32_t> ranks;                    // ascending
  uint32_t op = 0;                                // WEFT_OP_*; 0: any
  std::map<std::string, plugin::Written> params;  // that have this value only
  std::optional<std::chrono::nanoseconds> time;
  bool json = false;
  std::string html;  // file; empty: none
  uint32_t html_ranks = 4;
};

/// "2..17,32,64", ascending and each once. Throws UsageError.
std::vector<uint32_t> parse_rank_list(const std::string& text);
/// The same backwards; "none" if it is empty.
std::string rank_list(const std::vector<uint32_t>& ranks);

/// What came of one algorithm.
struct CheckOutcome {
  const plugin::Algorithm* algorithm = nullptr;
  std::vector<uint32_t> proved;   // numbers of ranks
  std::vector<uint32_t> no_time;  // that were asked for, too
  std::optional<proof::CounterExample> wrong;
  uint32_t cost_ranks = 0;  // number of ranks of `cost`; 0: there is none
  proof::Cost cost;
  std::vector<std::string> notes;
};

/// Tries the numbers of ranks that each algorithm serves, the smallest first, until the time is
/// over. A plugin that crashes, or asks for ever, ends the program with a line that says so.
std::vector<CheckOutcome> check_all(const std::vector<const plugin::Algorithm*>& algorithms,
                                    const CheckSpec& spec);

void print_check_table(const std::vector<CheckOutcome>& outcomes);
void print_check_json(const std::vector<CheckOutcome>& outcomes);
/// A page with the steps of each algorithm: of its counter-example, or with spec.html_ranks ranks.
/// Throws Failure if the file cannot be written.
void write_check_page(const std::vector<CheckOutcome>& outcomes, const CheckSpec& spec);

}  // namespace weft::tools
