// SPDX-License-Identifier: Apache-2.0
// The result of `weft bench --init`, as a table or as one JSON document.
#pragma once

#include <string>
#include <vector>

#include "bench/rows.hpp"
#include "bench/spec.hpp"

namespace weft::tools {

class CreationReport final : public Rows {
 public:
  CreationReport(const Spec& spec, bool json) : spec_(spec), json_(json) {}

  void add(const Creation& row) override { rows_.push_back(row); }
  /// Prints all; `error` is empty if all went well.
  void print(const std::string& error) const;

 private:
  void print_table() const;
  void print_json(const std::string& error) const;

  const Spec& spec_;
  const bool json_;
  std::vector<Creation> rows_;
};

}  // namespace weft::tools
