// SPDX-License-Identifier: Apache-2.0
// Finds plugins where the library does.
#pragma once

#include <filesystem>
#include <string>

#include "plugin/registry.hpp"

namespace weft::tools {

/// Loads from everywhere; what is wrong is reported on standard error, and the rest is still
/// loaded.
class Finder {
 public:
  /// `command` begins each report: "weft plugins".
  explicit Finder(std::string command) : command_(std::move(command)) {}

  void load(const std::filesystem::path& path);
  /// The installation, WEFT_PLUGIN_PATH and the paths of the policy.
  void load_usual_places();

  const plugin::Registry& registry() const { return registry_; }
  bool failed() const { return failed_; }

 private:
  template <typename Action>
  void attempt(Action action);

  const std::string command_;
  plugin::Registry registry_;
  bool failed_ = false;
};

}  // namespace weft::tools
