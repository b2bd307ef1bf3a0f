// SPDX-License-Identifier: Apache-2.0
#include "bench/call_options.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "bench/words.hpp"
#include "process.hpp"
#include "run/rank_table.hpp"

namespace weft::tools {

namespace {

constexpr uint64_t kMostQueued = 4096;  // calls; each keeps its work in memory until it is done

}  // namespace

void add_ranks_option(Options& options, Spec& spec, uint32_t fewest, uint32_t most) {
  options.value("ranks,n", "N", "number of ranks", [&spec, fewest, most](const std::string& text) {
    spec.ranks = uint32_t(parse_count(text, fewest, most));
  });
}

void add_sizes_options(Options& options, Spec& spec, const char* largest) {
  options.value("begin,b", "BYTES", "smallest size (8)",
                [&spec](const std::string& text) { spec.begin = parse_size(text); });
  options.value("end,e", "BYTES", fmt::format("largest size, always the last one ({})", largest),
                [&spec](const std::string& text) { spec.end = parse_size(text); });
  options.value("factor,f", "F", "from one size to the next (4)",
                [&spec](const std::string& text) { spec.factor = parse_count(text, 2, 1 << 16); });
}

void add_bytes_option(Options& options, Spec& spec) {
  options.value("bytes,b", "BYTES", "size of the larger buffer (1M)",
                [&spec](const std::string& text) { spec.begin = spec.end = parse_size(text); });
}

void add_type_option(Options& options, Spec& spec) {
  options.value("type,d", "TYPE", "type of the elements (fp32)",
                [&spec](const std::string& text) { spec.type = parse_data_type(text); });
}

void add_reduction_option(Options& options, Spec& spec, const char* names) {
  options.value(names, "R", "sum, prod, max or min (sum)",
                [&spec](const std::string& text) { spec.reduce_op = parse_reduction(text); });
}

void add_root_option(Options& options, Spec& spec, uint32_t most_ranks) {
  options.value("root", "R", "rank that is the root (0)",
                [&spec, most_ranks](const std::string& text) {
                  spec.root = uint32_t(parse_count(text, 0, most_ranks - 1));
                });
}

void add_threads_option(Options& options, Spec& spec) {
  options.flag("threads", "ranks are threads of one process, not processes", spec.threads);
}

void add_bind_option(Options& options, Spec& spec) {
  options.flag("bind", "bind each rank to a core: rank R to the R-th, from the first again",
               spec.bind);
}

void add_placement_options(Options& options, Spec& spec) {
  options.flag("bind", "bind each rank to a core also if there are more ranks than cores",
               spec.bind);
  options.flag("no-bind", "bind no rank: the kernel places them, as in most programs", spec.loose);
}

void place_ranks(Spec& spec) {
  refuse(spec.bind && spec.loose, "--bind and --no-bind contradict each other");
  if (!spec.loose && spec.ranks <= uint32_t(usable_cores())) spec.bind = true;
}

void add_memory_option(Options& options, Spec& spec) {
  options.value(
      "memory", "KIND",
      "heap (aclrtMalloc), symwin (symmetric windows), zerocopy (ranges) or malloc (heap)",
      [&spec](const std::string& text) { spec.memory = parse_memory(text); });
}

void add_in_place_option(Options& options, Spec& spec) {
  options.flag("in-place", "send and receive in one buffer", spec.in_place);
}

void add_queue_option(Options& options, Spec& spec) {
  options.value(
      "queue", "N", "calls put on the stream before each synchronisation (1)",
      [&spec](const std::string& text) { spec.queue = parse_count(text, 1, kMostQueued); });
}

void add_timeout_option(Options& options, Spec& spec, unsigned seconds) {
  spec.timeout = std::chrono::seconds(seconds);
  options.value("timeout", "S", fmt::format("give up if nothing moves for S seconds ({})", seconds),
                [&spec](const std::string& text) { spec.timeout = parse_seconds(text); });
}

void take_devices(Spec& spec) {
  const Devices devices = find_devices(spec.ranks);
  spec.devices = uint32_t(devices.visible.size());
  setenv("WEFT_DEVICES", std::to_string(devices.on_host).c_str(), 1);
}

}  // namespace weft::tools
