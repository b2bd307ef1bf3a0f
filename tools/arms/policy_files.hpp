// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace weft::tools {

/// Policies in a folder of their own, which is gone at the end.
class PolicyFiles {
 public:
  /// Throws Failure.
  PolicyFiles();
  ~PolicyFiles();
  PolicyFiles(const PolicyFiles&) = delete;
  PolicyFiles& operator=(const PolicyFiles&) = delete;

  /// The path of the new file. Throws Failure.
  std::string add(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace weft::tools
