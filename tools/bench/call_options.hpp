// SPDX-License-Identifier: Apache-2.0
// Options that say which call is meant and how its ranks are run: the same words and limits in all
// subcommands that have them.
#pragma once

#include <cstdint>
#include <string>

#include "bench/spec.hpp"
#include "options.hpp"

namespace weft::tools {

/// Sums of more ranks could not be exact in every type.
inline constexpr uint32_t kMostRanks = 256;

void add_ranks_option(Options& options, Spec& spec, uint32_t fewest, uint32_t most = kMostRanks);
/// -b, -e and -f; `largest` is the value of -e that is shown as the default.
void add_sizes_options(Options& options, Spec& spec, const char* largest);
/// -b of a single size.
void add_bytes_option(Options& options, Spec& spec);
void add_type_option(Options& options, Spec& spec);
/// `names` of the option: explain has --op for something else.
void add_reduction_option(Options& options, Spec& spec, const char* names = "op,o");
void add_root_option(Options& options, Spec& spec, uint32_t most_ranks = kMostRanks);
void add_threads_option(Options& options, Spec& spec);
void add_bind_option(Options& options, Spec& spec);
/// For comparisons: ranks that have a core each are bound unless they shall not be. Of two that
/// share a core in one launch and not in the next, a short call takes some 20 times as long.
void add_placement_options(Options& options, Spec& spec);
/// Decides about binding.
void place_ranks(Spec& spec);
void add_memory_option(Options& options, Spec& spec);
void add_in_place_option(Options& options, Spec& spec);
void add_queue_option(Options& options, Spec& spec);
/// `seconds` is the default that is shown.
void add_timeout_option(Options& options, Spec& spec, unsigned seconds);

/// Finds the devices for the ranks and shows them to whatever is started now. Throws UsageError.
void take_devices(Spec& spec);

}  // namespace weft::tools
