// SPDX-License-Identifier: Apache-2.0
// A call of an operator, as a value.
#pragma once

#include <cstdint>
#include <string>

namespace weft::comm {

/// What all ranks must agree on. Plain data without padding: compared and hashed as bytes.
struct CallKey {
  uint64_t count = 0;  // elements of one block
  uint32_t root = 0;
  uint8_t op = 0;         // WEFT_OP_*
  uint8_t type = 0;       // HcclDataType
  uint8_t reduce_op = 0;  // HcclReduceOp; 0 where there is none
  uint8_t reserved = 0;

  friend bool operator==(const CallKey&, const CallKey&) = default;
};
static_assert(sizeof(CallKey) == 16, "no padding: the key is hashed as bytes");

struct Call {
  CallKey key;
  const void* in = nullptr;
  void* out = nullptr;
};

/// For messages: "all_reduce of 1000 fp32, sum".
[[nodiscard]] std::string describe(const CallKey& key);

}  // namespace weft::comm
