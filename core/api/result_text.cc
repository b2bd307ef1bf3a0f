// SPDX-License-Identifier: Apache-2.0
// HcclGetErrorString: the fixed texts of the result codes.
#include <array>
#include <cstddef>

#include "api/export.hpp"
#include "hccl/hccl_comm.h"

namespace {

// The index is the code.
constexpr std::array<const char*, HCCL_E_OOM + 1> kTexts = {
    "no error",
    "parameter error",
    "empty pointer",
    "memory error",
    "internal error",
    "not support feature",
    "not found specific resource",
    "resource unavailable",
    "call system interface error",
    "timeout",
    "open file fail",
    "tcp connect fail",
    "roce connect fail",
    "tcp transfer fail",
    "roce transfer fail",
    "call runtime api fail",
    "call driver api fail",
    "call profiling api fail",
    "call cce api fail",
    "call network api fail",
    "try again",
    "error cqe",
    "error communicator suspending",
    "retry constraint",
    "out of memory",
};
static_assert(kTexts.back() != nullptr, "every code has a text");

}  // namespace

extern "C" WEFT_API const char* HcclGetErrorString(HcclResult code) {
  const auto index = static_cast<std::size_t>(static_cast<unsigned int>(code));
  if (index < kTexts.size()) {
    return kTexts[index];
  }
  // Unassigned codes below the end and codes beyond it have had different texts from the start.
  return index < HCCL_E_RESERVED ? "unknown err" : "unknown error";
}
