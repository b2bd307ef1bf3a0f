// SPDX-License-Identifier: Apache-2.0
// What a communicator tells about its calls: weft/comm.h.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "api/export.hpp"
#include "api/guard.hpp"
#include "api/handles.hpp"
#include "api/operators.hpp"
#include "comm/communicator.hpp"
#include "stats/judge.hpp"
#include "weft/comm.h"

namespace weft::api {
namespace {

/// As much of the text as there is room for, and a NUL.
template <size_t Room>
void write_text(char (&to)[Room], std::string_view text) {
  const size_t length = std::min(text.size(), Room - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

void fill(weft_arm_result& to, const comm::ExperimentReport::Arm& arm,
          const stats::ArmTimes& times) {
  write_text(to.algorithm, arm.name);
  write_text(to.off, arm.off);
  to.calls = arm.calls;
  to.median_us = times.median_us;
  to.mean_us = times.mean_us.value;
  to.mean_half_width_us = times.mean_us.half_width;
  to.ratio = times.ratio.median;
  to.ratio_low = times.ratio.low;
  to.ratio_high = times.ratio.high;
}

void fill(weft_experiment_result& to, const comm::ExperimentReport& report) {
  static_assert(config::kMostArms == WEFT_MOST_ARMS);
  const auto arms = static_cast<uint32_t>(report.arms.size());
  const stats::Judgement found = stats::judge(arms, report.blocks);
  write_text(to.name, report.experiment);
  to.arms = arms;
  to.fastest = found.faster ? 1 + *found.faster : 0;
  to.rounds = found.rounds;
  for (uint32_t i = 0; i < arms; ++i) fill(to.arm[i], report.arms[i], found.arms[i]);
}

}  // namespace
}  // namespace weft::api

using weft::api::communicator;
using weft::api::require;
using weft::api::require_all;

extern "C" {

WEFT_API HcclResult weft_comm_last_call(HcclComm comm, weft_call_info* info) {
  return weft::guard("weft_comm_last_call", [&] {
    require_all({{"comm", comm}, {"info", info}});
    require(info->head.major == WEFT_ABI_MAJOR && info->head.size >= sizeof(weft_call_info),
            HCCL_E_PARA, "info.head was not set with WEFT_HEAD(weft_call_info)");
    const weft::comm::LastCall last = communicator(comm).last_call();
    require(!last.algorithm.empty(), HCCL_E_NOT_FOUND, "no operator was called so far");
    weft::api::write_text(info->algorithm, last.algorithm);
    weft::api::write_text(info->source, last.source);
    info->pieces = last.pieces;
    info->in_way = static_cast<uint32_t>(last.in.way);
    info->out_way = static_cast<uint32_t>(last.out.way);
    info->reserved = 0;
    weft::api::write_text(info->in_why, communicator(comm).why(last.in));
    weft::api::write_text(info->out_why, communicator(comm).why(last.out));
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult weft_comm_experiment(HcclComm comm, uint32_t index,
                                         weft_experiment_result* result) {
  return weft::guard("weft_comm_experiment", [&] {
    require_all({{"comm", comm}, {"result", result}});
    require(result->head.major == WEFT_ABI_MAJOR && result->head.size >= sizeof *result,
            HCCL_E_PARA, "result.head was not set with WEFT_HEAD(weft_experiment_result)");
    const auto reports = communicator(comm).experiment_reports();
    require(index < reports.size(), HCCL_E_NOT_FOUND, "there is no such experiment");
    weft::api::fill(*result, reports[index]);
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult weft_comm_get_counters(HcclComm comm, weft_comm_counters* counters) {
  return weft::guard("weft_comm_get_counters", [&] {
    require_all({{"comm", comm}, {"counters", counters}});
    require(counters->head.major == WEFT_ABI_MAJOR && counters->head.size >= sizeof *counters,
            HCCL_E_PARA, "counters.head was not set with WEFT_HEAD(weft_comm_counters)");
    static_assert(weft::comm::kWays == WEFT_WAY_COUNT);
    const auto& calls = communicator(comm).calls_by_way();
    std::copy(calls.begin(), calls.end(), counters->calls_by_way);
    counters->plans_made = communicator(comm).plans().made();
    counters->plans_evicted = communicator(comm).plans().evicted();
    return HCCL_SUCCESS;
  });
}

WEFT_API const char* weft_way_name(uint32_t way) {
  return weft::comm::way_name(way < WEFT_WAY_COUNT ? static_cast<weft::comm::Way>(way)
                                                   : weft::comm::Way::kNone);
}

WEFT_API const char* weft_last_error(void) { return weft::last_error(); }

}  // extern "C"
