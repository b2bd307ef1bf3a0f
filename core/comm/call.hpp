// SPDX-License-Identifier: Apache-2.0
// A call of an operator, as a value.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "weft/abi.h"

namespace weft::comm {

/// What the core does without algorithms: numbers beside WEFT_OP_*, never seen by plugins.
enum : uint8_t { kOpSend = 64, kOpReceive = 65, kOpBatch = 66 };

/// What all ranks must agree on. Plain data without padding: compared and hashed as bytes.
struct CallKey {
  uint64_t count = 0;     // elements of one block; of all blocks together if they have lengths of
                          // their own, 0 if ranks need not know that
  uint32_t root = 0;      // or the peer of a message
  uint8_t op = 0;         // WEFT_OP_*, kOp*
  uint8_t type = 0;       // HcclDataType
  uint8_t reduce_op = 0;  // HcclReduceOp; 0 where there is none
  uint8_t arm = 0;        // 1 + number of the arm of an experiment that does it; 0: none does

  friend bool operator==(const CallKey&, const CallKey&) = default;
};
static_assert(sizeof(CallKey) == 16, "no padding: the key is hashed as bytes");

[[nodiscard]] constexpr CallKey without_arm(CallKey key) noexcept {
  key.arm = 0;
  return key;
}

/// Of an operation whose blocks have lengths of their own: n entries each, in elements, borrowed
/// for the call. Null where the operation has one block, whose length is in the other pair.
struct Lengths {
  const uint64_t* in_counts = nullptr;
  const uint64_t* in_displacements = nullptr;
  const uint64_t* out_counts = nullptr;
  const uint64_t* out_displacements = nullptr;
  uint64_t digest = 0;  // of all that must be equal on all ranks
};

struct Call {
  CallKey key;
  const void* in = nullptr;
  void* out = nullptr;
  Lengths lengths = {};
};

/// Continues a hash: two lists with equal hashes are equal, for what mistakes are made of.
[[nodiscard]] uint64_t digest(std::span<const uint64_t> values, uint64_t state = 0) noexcept;

/// For messages: "all_reduce of 1000 fp32, sum".
[[nodiscard]] std::string describe(const CallKey& key);

}  // namespace weft::comm
