// SPDX-License-Identifier: Apache-2.0
#include "arms/judgement.hpp"

#include <cstdlib>

namespace weft::tools {

void prepare_arms() {
  setenv("WEFT_LOG", "error", 0);
  unsetenv("HCCL_ALGO");
}

}  // namespace weft::tools
