// SPDX-License-Identifier: Apache-2.0
// One rank of one communicator, for either engine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "context.hpp"
#include "task_state.hpp"
#include "weft/transport.h"

namespace weft::hccs {

struct Endpoint {
  Context* context = nullptr;
  weft_endpoint_params params{};
  std::vector<std::string> imported;  // keys of memory held open
  // direct engine
  void* heap_base = nullptr;
  size_t heap_size = 0;
  // tasks engine
  std::unique_ptr<TaskState> tasks;
};

/// Runs `body`, which returns a code; exceptions (out of memory only) become one (P8).
template <typename Body>
int32_t guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::exception&) {
    return WEFT_E_OOM;
  }
}

}  // namespace weft::hccs
