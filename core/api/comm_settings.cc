// SPDX-License-Identifier: Apache-2.0
// Settings of one communicator: told, changed while it lives, or taken for hardware that a host
// does not have.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include "api/export.hpp"
#include "api/operators.hpp"
#include "api/process_config.hpp"
#include "base/log.hpp"
#include "hccl/hccl_comm.h"

namespace weft::api {
namespace {

/// The documented answer for a value of HcclCommConfig.hcclOpExpansionMode.
HcclOpExpansionMode expansion_mode(uint32_t configured) {
  switch (configured) {
    case 0:
    case 6:
      return HCCL_OP_EXPANSION_MODE_CCU_SCHED;
    case 1:
      return HCCL_OP_EXPANSION_MODE_HOST_TS;
    case 2:
      return HCCL_OP_EXPANSION_MODE_AI_CPU;
    case 3:
      return HCCL_OP_EXPANSION_MODE_AIV;
    case 4:
      return HCCL_OP_EXPANSION_AIV_ONLY;
    case 5:
      return HCCL_OP_EXPANSION_MODE_CCU_MS;
    default:
      throw Error(HCCL_E_INTERNAL, fmt::format("hcclOpExpansionMode {} is unknown", configured));
  }
}

void write_expansion_mode(const comm::Communicator& group, uint32_t room, void* info) {
  const HcclOpExpansionMode mode = expansion_mode(group.options().op_expansion);
  if (room != sizeof mode) {
    throw Error(HCCL_E_PARA,
                fmt::format("infoLen is {}; an operator expansion mode has {}", room, sizeof mode));
  }
  std::memcpy(info, &mode, sizeof mode);
}

void write_algo(const comm::Communicator& group, uint32_t room, void* info) {
  const std::string& text = group.options().algo.as_given;
  if (room < HCCL_COMM_ALGO_MAX_LENGTH || room <= text.size()) {
    throw Error(HCCL_E_PARA,
                fmt::format("infoLen is {}; the text of HCCL_ALGO needs {}", room,
                            std::max<size_t>(HCCL_COMM_ALGO_MAX_LENGTH, text.size() + 1)));
  }
  std::memset(info, 0, room);
  std::memcpy(info, text.data(), text.size());
}

void tell(const comm::Communicator& group, HcclConfigType type, uint32_t room, void* info) {
  switch (type) {
    case HCCL_CONFIG_TYPE_OP_EXPANSION_MODE:
      return write_expansion_mode(group, room, info);
    case HCCL_CONFIG_TYPE_HCCL_ALGO:
      return write_algo(group, room, info);
    default:
      throw Error(HCCL_E_PARA, fmt::format("cfgType is {}; 0 is the operator expansion mode, 1 is "
                                           "HCCL_ALGO",
                                           static_cast<int>(type)));
  }
}

void check_ports(const comm::Communicator& group, const uint32_t* ranks, uint32_t count) {
  if (group.options().retries_links && !group.has_called()) {
    throw Error(HCCL_E_PARA, "no operator was called on this communicator so far");
  }
  std::set<uint32_t> seen;
  for (uint32_t i = 0; i < count; ++i) {
    check_rank(ranks[i], "an entry of ranks", group);
    if (!seen.insert(ranks[i]).second) {
      throw Error(HCCL_E_PARA, fmt::format("ranks names rank {} twice", ranks[i]));
    }
  }
}

}  // namespace
}  // namespace weft::api

using weft::api::communicator;
using weft::api::require_all;

extern "C" {

WEFT_API HcclResult HcclConfigGetInfo(HcclComm comm, HcclConfigType cfgType, uint32_t infoLen,
                                      void* info) {
  return weft::guard("HcclConfigGetInfo", [&] {
    require_all({{"comm", comm}, {"info", info}});
    weft::api::tell(communicator(comm), cfgType, infoLen, info);
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclSetCommConfig(HcclComm comm, HcclConfig config,
                                      HcclConfigValue configValue) {
  return weft::guard("HcclSetCommConfig", [&] {
    require_all({{"comm", comm}});
    weft::comm::Communicator& group = communicator(comm);
    if (config != HCCL_DETERMINISTIC) return HCCL_SUCCESS;
    group.set_deterministic(weft::api::deterministic_level(configValue.value));
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclGetCommConfig(HcclComm comm, HcclConfig config,
                                      HcclConfigValue* configValue) {
  return weft::guard("HcclGetCommConfig", [&] {
    require_all({{"comm", comm}, {"configValue", configValue}});
    const weft::comm::Communicator& group = communicator(comm);
    if (config == HCCL_DETERMINISTIC) {
      configValue->value = static_cast<int32_t>(group.deterministic());
    }
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t* ranks, bool* useBackup,
                                             uint32_t nRanks) {
  return weft::guard("HcclCommWorkingDevNicSet", [&] {
    require_all({{"comm", comm}, {"ranks", ranks}, {"useBackup", useBackup}});
    weft::api::check_ports(communicator(comm), ranks, nRanks);
    weft::log::warn(
        "HcclCommWorkingDevNicSet: nothing is switched, the ranks of this host share memory");
    return HCCL_SUCCESS;
  });
}

}  // extern "C"
