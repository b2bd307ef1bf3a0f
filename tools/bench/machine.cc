// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.hpp"

#include <fmt/core.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "process.hpp"

namespace weft::tools {
namespace {

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

}  // namespace

std::string machine_text() { return fmt::format("{} cores ({})", usable_cores(), processor()); }

nlohmann::ordered_json machine_json() {
  return {{"cores", usable_cores()}, {"model", processor()}};
}

}  // namespace weft::tools
