// SPDX-License-Identifier: Apache-2.0
// `weft run`: starts the ranks of a program on this machine.
#include <fmt/core.h>
#include <unistd.h>

#include "command.hpp"
#include "options.hpp"
#include "run/launcher.hpp"
#include "run/rank_table.hpp"

namespace weft::tools {
namespace {

constexpr uint64_t kMostRanks = 1024;  // as many as there can be devices

constexpr const char* kUsageLine = "weft run -n N [options] [--] PROGRAM [ARGUMENT...]";
constexpr const char* kAbout =
    R"(Starts N processes of PROGRAM, the ranks, on this machine. Each finds in its environment

  RANK_ID RANK_SIZE   its number and how many there are
  ASCEND_DEVICE_ID    its device: the rank modulo the number of devices, of those in
                      ASCEND_RT_VISIBLE_DEVICES if that is set
  WEFT_DEVICES        the number of devices: as it was set, else 8 or N if that is more
  RANK_TABLE_FILE     a rank table of all ranks, version 1.0. It is a file in memory, reached as
                      /proc/<process of weft>/fd/<n>: no file is left behind, whatever happens

Every line of output gets its rank in front, "[0] ". Rank 0 has the standard input, the others none.
When a rank fails, or weft is interrupted, all others get SIGTERM and two seconds later SIGKILL, with
the process groups they started in. The ranks also end when weft is killed. What a rank leaves running
when it ends well, such as a shell's >(tee log), is left alone.

Exit code: 0 if all ranks were fine, else that of the first that failed (128 + number for a signal);
124 after a timeout; 127 if PROGRAM cannot be executed; 2 for a wrong command line.)";

}  // namespace

int run_command(const Words& words) {
  Launch launch;
  bool no_prefix = false;
  Options options(kUsageLine, kAbout);
  options.value("ranks,n", "N", "number of ranks", [&](const std::string& text) {
    launch.ranks = static_cast<uint32_t>(parse_count(text, 1, kMostRanks));
  });
  options.value("timeout", "S", "stop all ranks after S seconds (default: never)",
                [&](const std::string& text) { launch.timeout = parse_seconds(text); });
  options.flag("no-prefix", "hand on the output as it is", no_prefix);
  if (!options.parse(words, Options::Rest::kProgram)) return kOk;
  if (!options.given("ranks")) throw UsageError("-n is missing: how many ranks?");
  if (options.words().empty()) throw UsageError("which program?");

  launch.program = options.words();
  launch.prefix = !no_prefix;
  const Devices devices = find_devices(launch.ranks);
  launch.devices = devices.on_host;
  launch.visible_devices = static_cast<uint32_t>(devices.visible.size());
  raise_file_limit();
  const Fd table = rank_table_file(rank_table(launch.ranks, devices));
  launch.rank_table = fmt::format("/proc/{}/fd/{}", getpid(), table.get());
  return tools::launch(launch);
}

}  // namespace weft::tools
