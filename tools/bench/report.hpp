// SPDX-License-Identifier: Apache-2.0
// The result of a bench, as a table that grows row by row or as one JSON document at the end.
#pragma once

#include <string>
#include <vector>

#include "bench/rows.hpp"
#include "bench/spec.hpp"
#include "bench/team.hpp"

namespace weft::tools {

class Report final : public Rows {
 public:
  Report(const Spec& spec, bool json);

  /// Prints what stands above the rows.
  void begin();
  void add(const Row& row) override;
  /// Prints what stands below; `error` is empty if all went well.
  void end(const std::string& error);

  /// Wrong elements of all rows.
  uint64_t wrong() const { return wrong_; }

 private:
  void print_json(const std::string& error) const;

  const Spec& spec_;
  bool json_;
  uint64_t wrong_ = 0;
  std::vector<Row> rows_;
};

}  // namespace weft::tools
