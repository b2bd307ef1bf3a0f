// SPDX-License-Identifier: Apache-2.0
// HcclSetConfig and HcclGetConfig.
#include "api/process_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "api/device.hpp"
#include "api/export.hpp"
#include "api/operators.hpp"
#include "base/log.hpp"
#include "config/variables.hpp"
#include "hccl/hccl_comm.h"

namespace weft::api {
namespace {

std::atomic<uint32_t> deterministic_of_process{0};

const config::Variable& variable() {
  return *std::ranges::find(config::variables(), std::string_view("HCCL_DETERMINISTIC"),
                            &config::Variable::name);
}

bool is_in_environment() {
  if (const config::Environment* kept = config::kept_environment()) {
    return kept->deterministic.has_value();
  }
  return config::value_of(variable()).has_value();
}

/// Before the first communicator the variable is read alone: the others are no business of these
/// functions.
std::optional<uint32_t> deterministic_of_environment() {
  if (const config::Environment* kept = config::kept_environment()) return kept->deterministic;
  config::Environment read;
  const std::string problem = config::read_variable(variable(), read);
  if (!problem.empty()) throw Error(HCCL_E_PARA, problem);
  return read.deterministic;
}

void set_deterministic(int32_t value) {
  if (is_in_environment()) {
    log::warn("HcclSetConfig: ignored, since the environment variable HCCL_DETERMINISTIC is set");
    return;
  }
  const uint32_t level = deterministic_level(value);
  deterministic_of_process.store(level);
  const int32_t device = device_of_thread();
  for_each([&](const NameUse& use, comm::Communicator* made, Joining* joining) {
    if (use.device != device) return;
    if (made != nullptr) made->set_deterministic(level);
    if (joining != nullptr) joining->deterministic = level;
  });
}

}  // namespace

uint32_t deterministic_level(int32_t value) {
  if (value >= 0 && value <= 2) return static_cast<uint32_t>(value);
  throw Error(HCCL_E_PARA, fmt::format("the value is {}; allowed are 0, 1 and 2", value));
}

uint32_t process_deterministic() noexcept { return deterministic_of_process.load(); }

}  // namespace weft::api

extern "C" {

WEFT_API HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue) {
  return weft::guard("HcclSetConfig", [&] {
    if (config == HCCL_DETERMINISTIC) weft::api::set_deterministic(configValue.value);
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue* configValue) {
  return weft::guard("HcclGetConfig", [&] {
    weft::api::require_all({{"configValue", configValue}});
    if (config == HCCL_DETERMINISTIC) {
      configValue->value = static_cast<int32_t>(
          weft::api::deterministic_of_environment().value_or(weft::api::process_deterministic()));
    }
    return HCCL_SUCCESS;
  });
}

}  // extern "C"
