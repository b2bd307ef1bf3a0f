// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.hpp"

#include <fmt/core.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

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

constexpr const char* kBusy = "if something else is running, the times may mislead";

/// Of the last minute, if it is known.
std::optional<double> load() {
  double load = 0;
  if (getloadavg(&load, 1) != 1) return std::nullopt;
  return load;
}

bool busy() { return load().value_or(0) > 0.5 * usable_cores(); }

}  // namespace

std::string load_text() {
  if (!load()) return "load unknown";
  return fmt::format("load average {:.1f}{}{}", *load(), busy() ? ": " : "", busy() ? kBusy : "");
}

std::string load_warning() {
  return busy() ? fmt::format("# load average {:.1f}: {}\n", *load(), kBusy) : "";
}

std::string machine_text() { return fmt::format("{} cores ({})", usable_cores(), processor()); }

nlohmann::ordered_json machine_json() {
  return {{"cores", usable_cores()}, {"model", processor()}};
}

}  // namespace weft::tools
