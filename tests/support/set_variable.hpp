// SPDX-License-Identifier: Apache-2.0
// Environment variables that are set for a test.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace weft {

/// As long as it lives; then the variable is what it was before.
class SetVariable {
 public:
  /// No value: the variable is not set.
  SetVariable(const std::string& name, const std::optional<std::string>& value) : name_(name) {
    if (const char* before = std::getenv(name.c_str())) before_ = before;
    set(value);
  }
  ~SetVariable() { set(before_); }
  SetVariable(const SetVariable&) = delete;
  SetVariable& operator=(const SetVariable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const {
    if (value) {
      setenv(name_.c_str(), value->c_str(), 1);
    } else {
      unsetenv(name_.c_str());
    }
  }

  const std::string name_;
  std::optional<std::string> before_;
};

}  // namespace weft
