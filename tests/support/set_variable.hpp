// SPDX-License-Identifier: Apache-2.0
// Environment variables that are set for a test.
#pragma once

#include <cstdlib>
#include <string>

namespace weft::config {

class SetVariable {
 public:
  SetVariable(const std::string& name, const std::string& value) : name_(name) {
    setenv(name.c_str(), value.c_str(), 1);
  }
  ~SetVariable() { unsetenv(name_.c_str()); }
  SetVariable(const SetVariable&) = delete;
  SetVariable& operator=(const SetVariable&) = delete;

 private:
  const std::string name_;
};

}  // namespace weft::config
