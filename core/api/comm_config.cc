// SPDX-License-Identifier: Apache-2.0
#include "api/comm_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "api/process_config.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "config/environment.hpp"
#include "config/limits.hpp"
#include "hccl/hccl_comm.h"

namespace weft::api {
namespace {

using std::chrono::seconds;

constexpr uint64_t kMb = 1 << 20;
constexpr uint64_t kGb = 1 << 30;
constexpr uint64_t kMostGb = UINT64_MAX / kGb;

/// First bytes of HcclCommConfig, which callers see as `reserved`.
struct Info {
  uint64_t size;
  uint32_t magic;
  uint32_t version;
  uint64_t reserved;
};
static_assert(sizeof(Info) == HCCL_COMM_CONFIG_INFO_BYTES);

[[noreturn]] void refuse(const std::string& what) {
  throw Error(HCCL_E_PARA, "HcclCommConfig: " + what);
}

/// A full-size copy in which everything the caller's struct does not hold has its default.
HcclCommConfig load(const HcclCommConfig* config) {
  if (config == nullptr) refuse("is a null pointer");
  HcclCommConfig full;
  std::memset(static_cast<void*>(&full), 0, sizeof full);
  HcclCommConfigInit(&full);
  Info info{};
  std::memcpy(&info, config, sizeof info);
  if (info.magic != HCCL_COMM_CONFIG_MAGIC_WORD) {
    refuse("was not prepared with HcclCommConfigInit (wrong magic word)");
  }
  if (info.size < sizeof info) refuse(fmt::format("says that its size is {} bytes", info.size));
  if (info.size > sizeof full) {
    log::warn(fmt::format("HcclCommConfig has {} bytes, {} are known; the rest is ignored",
                          info.size, sizeof full));
  }
  const size_t bytes = std::min<size_t>(info.size, sizeof full);
  std::memcpy(reinterpret_cast<std::byte*>(&full) + sizeof info,
              reinterpret_cast<const std::byte*>(config) + sizeof info, bytes - sizeof info);
  HcclCommConfig defaults;
  HcclCommConfigInit(&defaults);
  // Older versions leave what they do not know uninitialised, whatever the size says.
  if (info.version < 9) full.hcclBufferName[0] = '\0';
  if (info.version < 10) {
    full.hcclQos = defaults.hcclQos;
    full.hcclSymWinMaxMemSizePerRank = defaults.hcclSymWinMaxMemSizePerRank;
  }
  if (info.version < 2) full.hcclCommName[0] = '\0';
  if (info.version < 4) full.hcclOpExpansionMode = defaults.hcclOpExpansionMode;
  if (info.version < 5) {
    full.hcclRdmaTrafficClass = defaults.hcclRdmaTrafficClass;
    full.hcclRdmaServiceLevel = defaults.hcclRdmaServiceLevel;
  }
  if (info.version < 7) full.aclGraphZeroCopyEnable = defaults.aclGraphZeroCopyEnable;
  if (info.version < 8) {
    full.hcclExecTimeOut = defaults.hcclExecTimeOut;
    full.hcclAlgo[0] = '\0';
    full.hcclRetryEnable[0] = '\0';
    full.hcclRetryParams[0] = '\0';
  }
  return full;
}

/// The characters of a field that must end with a NUL.
template <size_t N>
std::string_view text_of(const char (&field)[N], const char* name) {
  const size_t length = strnlen(field, N);
  if (length == N) {
    refuse(fmt::format("{} has no end; at most {} characters and a NUL", name, N - 1));
  }
  return {field, length};
}

/// Fields that change nothing on a host, but are told or must be right.
void apply_idle_fields(const HcclCommConfig& full, comm::Options& options) {
  constexpr uint32_t kHighestQos = 7;
  options.buffer_name.assign(full.hcclBufferName,
                             strnlen(full.hcclBufferName, sizeof full.hcclBufferName));
  if (!options.buffer_name.empty()) {
    log::info(
        fmt::format("HcclCommConfig: hcclBufferName \"{}\": the communicator has an HCCL "
                    "buffer of its own nevertheless",
                    options.buffer_name));
  }
  if (full.hcclQos != HCCL_COMM_QOS_CONFIG_NOT_SET && full.hcclQos > kHighestQos) {
    refuse(fmt::format("hcclQos is {}; allowed are 0 to {}", full.hcclQos, kHighestQos));
  }
}

/// Runs a check; what is wrong is that of the field.
template <typename Check>
void check_field(const char* name, const Check& check) {
  try {
    check();
  } catch (const config::BadValue& bad) {
    refuse(fmt::format("{}: {}", name, bad.what()));
  }
}

void apply_retries(const HcclCommConfig& full, comm::Options& options) {
  const std::string levels =
      config::without_spaces(text_of(full.hcclRetryEnable, "hcclRetryEnable"));
  if (!levels.empty()) {
    check_field("hcclRetryEnable", [&] {
      if (config::comma_list(levels).size() > 3) {
        throw config::BadValue("it has more than three items");
      }
    });
    try {
      options.retries_links = config::parse_retry_levels(levels)[2];
    } catch (const config::BadValue& bad) {
      log::warn(
          fmt::format("HcclCommConfig: hcclRetryEnable \"{}\" is ignored: {}", levels, bad.what()));
    }
  }
  const std::string_view params = text_of(full.hcclRetryParams, "hcclRetryParams");
  if (!params.empty()) {
    check_field("hcclRetryParams", [&] { config::check_retry_params(params); });
  }
}

/// Fields that do next to nothing on a host, as the variables that they override.
void apply_hardware_fields(const HcclCommConfig& full, comm::Options& options) {
  constexpr uint32_t kHighestMode = 6;
  if (full.hcclOpExpansionMode <= kHighestMode) {
    options.op_expansion = full.hcclOpExpansionMode;
  } else {
    log::warn(fmt::format("HcclCommConfig: hcclOpExpansionMode {} is unknown and ignored",
                          full.hcclOpExpansionMode));
  }
  if (full.hcclRdmaTrafficClass != HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET) {
    check_field("hcclRdmaTrafficClass",
                [&] { config::check_traffic_class(full.hcclRdmaTrafficClass); });
  }
  if (full.hcclRdmaServiceLevel != HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET &&
      full.hcclRdmaServiceLevel > 7) {
    refuse(
        fmt::format("hcclRdmaServiceLevel is {}; allowed are 0 to 7", full.hcclRdmaServiceLevel));
  }
  apply_retries(full, options);
}

}  // namespace

comm::Options default_options(const config::Policy& policy) {
  const config::Environment& env = config::environment();
  const config::Settings& settings = policy.settings();
  comm::Options options;
  options.connect_timeout = config::connect_limit(env, settings).time;
  options.exec_timeout = config::exec_limit(env, settings).time;
  options.scratch_bytes = env.buffer_mb.value_or(HCCL_COMM_DEFAULT_BUFFSIZE) * kMb;
  options.deterministic = env.deterministic.value_or(process_deterministic());
  options.algo = env.algo;
  options.check_memory = env.check_memory;
  options.early_calls = env.early_calls;
  options.experiments = env.experiments;
  options.detection = env.network.detection;
  options.entry_log = env.entry_log;
  options.debug = env.debug;
  options.monitor = env.diagnostics.monitor;
  options.diagnose = env.diagnose && env.diagnostics.task_exception;
  options.retries_links = env.retries_links;
  return options;
}

void apply_config(const HcclCommConfig* config, comm::Options& options) {
  const HcclCommConfig full = load(config);
  if (full.hcclBufferSize == 0) refuse("hcclBufferSize is 0; allowed is 1 MB and more");
  if (full.hcclBufferSize != HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET) {
    options.scratch_bytes = full.hcclBufferSize * kMb;
  }
  if (full.hcclDeterministic != HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET) {
    if (full.hcclDeterministic > 2) {
      refuse(
          fmt::format("hcclDeterministic is {}; allowed are 0, 1 and 2", full.hcclDeterministic));
    }
    options.deterministic = full.hcclDeterministic;
  }
  if (full.aclGraphZeroCopyEnable > 1) {
    refuse(fmt::format("aclGraphZeroCopyEnable is {}; allowed are 0 and 1",
                       full.aclGraphZeroCopyEnable));
  }
  // Checked by what uses it, at the first window. The default may be lowered by a small device.
  if (full.hcclSymWinMaxMemSizePerRank != HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE) {
    options.window_bytes = full.hcclSymWinMaxMemSizePerRank > kMostGb
                               ? WEFT_NOT_CONFIGURED - 1
                               : full.hcclSymWinMaxMemSizePerRank * kGb;
  }
  if (full.hcclExecTimeOut >= 0) options.exec_timeout = seconds(full.hcclExecTimeOut);
  if (full.hcclExecTimeOut < HCCL_COMM_EXECTIMEOUT_CONFIG_NOT_SET) {
    log::warn(fmt::format("HcclCommConfig: hcclExecTimeOut {} is out of range and ignored",
                          full.hcclExecTimeOut));
  }
  apply_hardware_fields(full, options);
  apply_idle_fields(full, options);
  const config::HcclAlgo algo = config::parse_hccl_algo(text_of(full.hcclAlgo, "hcclAlgo"),
                                                        config::HcclAlgoSource::kCommConfig);
  if (algo.given) options.algo = algo;
  const std::string_view name = text_of(full.hcclCommName, "hcclCommName");
  if (!name.empty()) options.name = name;
}

void warn_of_idle_wishes(const config::HcclAlgo& algo, const config::Policy& policy) {
  for (const std::string& warning : algo.warnings) log::warn(warning);
  for (const std::string_view name : algo.level0_names()) {
    if (policy.answers_to(name)) continue;
    log::warn(
        fmt::format("{} level0:{}: no loaded plugin has such an algorithm; the policy {} "
                    "decides instead",
                    algo.from, name, policy.name()));
  }
  if (algo.beyond_a_host()) {
    log::info(fmt::format("{}: level1 to level3 choose between hosts; all ranks are on this one",
                          algo.from));
  }
}

}  // namespace weft::api
