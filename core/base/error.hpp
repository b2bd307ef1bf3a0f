// SPDX-License-Identifier: Apache-2.0
// The one exception type of the setup zone: an HCCL result code and a message that says what, where
// and what to do.
#pragma once

#include <stdexcept>
#include <string>

#include "hccl/hccl_types.h"

namespace weft {

class Error : public std::runtime_error {
 public:
  Error(HcclResult code, const std::string& message) : std::runtime_error(message), code_(code) {}

  HcclResult code() const noexcept { return code_; }

 private:
  HcclResult code_;
};

}  // namespace weft
