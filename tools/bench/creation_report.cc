// SPDX-License-Identifier: Apache-2.0
#include "bench/creation_report.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "bench/machine.hpp"

namespace weft::tools {

void CreationReport::print(const std::string& error) const {
  if (json_) return print_json(error);
  if (error.empty()) print_table();
}

void CreationReport::print_table() const {
  fmt::print("# communicators of {} {}, on {}\n", spec_.ranks,
             spec_.threads ? "threads" : "processes", machine_text());
  fmt::print(
      "# times of the slowest rank; resident: what {} more in memory than before, with no call\n",
      spec_.threads ? "a rank has on average" : "the largest rank has");
  fmt::print("{:>12} {:>10} {:>10} {:>10} {:>11} {:>13}\n", "communicator", "root ms", "join ms",
             "create ms", "destroy ms", "resident KiB");
  for (size_t i = 0; i < rows_.size(); ++i) {
    const Creation& row = rows_[i];
    fmt::print("{:>12} {:>10.2f} {:>10.2f} {:>10.2f} {:>11.2f} {:>13.0f}\n", i + 1, row.root_ms,
               row.join_ms, row.root_ms + row.join_ms, row.destroy_ms, row.resident / 1024);
  }
}

void CreationReport::print_json(const std::string& error) const {
  auto results = nlohmann::ordered_json::array();
  for (const Creation& row : rows_) {
    results.push_back({{"root_ms", row.root_ms},
                       {"join_ms", row.join_ms},
                       {"create_ms", row.root_ms + row.join_ms},
                       {"destroy_ms", row.destroy_ms},
                       {"resident_bytes", row.resident}});
  }
  nlohmann::ordered_json document = {{"ranks", spec_.ranks},
                                     {"mode", spec_.threads ? "threads" : "processes"},
                                     {"machine", machine_json()},
                                     {"communicators", results}};
  if (!error.empty()) document["error"] = error;
  fmt::print("{}\n", document.dump(2));
}

}  // namespace weft::tools
