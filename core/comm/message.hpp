// SPDX-License-Identifier: Apache-2.0
// One side of a message between two ranks, as a value.
#pragma once

#include <cstdint>

namespace weft::comm {

struct Message {
  bool sends = false;      // else receives
  void* buffer = nullptr;  // read only if it sends
  uint64_t count = 0;      // elements
  int32_t type = 0;        // HcclDataType
  uint32_t peer = 0;
};

}  // namespace weft::comm
