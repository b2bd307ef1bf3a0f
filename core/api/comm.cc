// SPDX-License-Identifier: Apache-2.0
// Communicator management of the C API: check arguments, create, query, destroy.
#include "weft/comm.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <latch>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/comm_config.hpp"
#include "api/device.hpp"
#include "api/export.hpp"
#include "api/guard.hpp"
#include "api/handles.hpp"
#include "api/operators.hpp"
#include "api/state_callbacks.hpp"
#include "base/log.hpp"
#include "comm/library.hpp"
#include "config/environment.hpp"
#include "hccl/hccl_comm.h"

namespace weft::api {
namespace {

using comm::Communicator;
using comm::Library;

HcclComm create(uint32_t ranks, const HcclRootInfo* root, uint32_t rank,
                std::shared_ptr<const config::Policy> policy, comm::Options options,
                int32_t device) {
  const std::string origin = control::root_identifier(*root);
  if (options.name.empty()) options.name = origin;
  warn_of_idle_wishes(options.algo, *policy);
  const NameUse use{device, options.name, origin, rank};
  reserve_name(use);
  try {
    return add(Communicator::create(*root, ranks, rank, std::move(policy), std::move(options)),
               use);
  } catch (...) {
    release_name(use);
    throw;
  }
}

/// Arguments of HcclCommInitRootInfo, or of HcclCommInitRootInfoConfig if `with_config`: there a
/// null `config` is an error.
struct Arguments {
  uint32_t ranks;
  const HcclRootInfo* root;
  uint32_t rank;
  bool with_config;
  const HcclCommConfig* config;
  HcclComm* comm;
};

void init(const Arguments& given, int32_t device) {
  const auto& [ranks, root, rank, with_config, config, comm] = given;
  const auto policy = Library::instance().load_policy();
  require(ranks != 0, HCCL_E_PARA, "nRanks is 0");
  if (rank >= ranks) {
    throw Error(HCCL_E_PARA,
                fmt::format("rank is {}, nRanks is {}: ranks are 0..{}", rank, ranks, ranks - 1));
  }
  require(comm != nullptr, HCCL_E_PTR, "comm is a null pointer");
  require(root != nullptr, HCCL_E_PTR, "rootInfo is a null pointer");
  *comm = nullptr;
  comm::Options options = default_options(*policy);
  if (with_config) apply_config(config, options);
  *comm = create(ranks, root, rank, policy, std::move(options), device);
}

/// Joins now; in a group at its end, on a thread with the device that is current now.
HcclResult join_root(const char* function, const Arguments& given) {
  const auto policy = Library::instance().load_policy();
  const int32_t device = current_device(*policy);
  if (in_group()) {
    require(given.comm != nullptr, HCCL_E_PTR, "comm is a null pointer");
    require(given.root != nullptr, HCCL_E_PTR, "rootInfo is a null pointer");
    queue_job(function, [given, policy, device] {
      const CurrentDevice current(*policy, device);
      init(given, device);
    });
  } else {
    init(given, device);
  }
  return HCCL_SUCCESS;
}

void destroy(HcclComm comm) {
  const StateChange change(comm);
  if (give_up_joining(comm)) return;  // nothing was called on it so far
  require_idle(comm);
  change.tell(HCCL_COMM_STATE_PHASE_DESTROY_PRE);
  std::unique_ptr<Communicator> taken = take_idle(comm);
  require(taken != nullptr, HCCL_E_PARA, "comm is no communicator of this process (destroyed?)");
  taken.reset();
  change.tell(HCCL_COMM_STATE_PHASE_DESTROY_POST);
}

/// The ranks of one HcclCommInitAll, each on a thread of its own.
struct Team {
  Team(uint32_t ranks, comm::Options given)
      : options(std::move(given)), failures(ranks), ready(ranks) {}
  void fail(uint32_t rank, const char* text) {
    failures[rank] = text;
    failed.store(true);
  }

  HcclRootInfo root;
  std::shared_ptr<const config::Policy> policy;
  const comm::Options options;
  std::vector<std::string> failures;  // by rank; empty: none
  std::atomic<bool> failed{false};
  std::latch ready;  // all have their device, or have failed: nobody waits for one that has
};

void join_team(Team& team, uint32_t rank, int32_t device, HcclComm* comm) {
  std::unique_ptr<CurrentDevice> current;
  try {
    current = std::make_unique<CurrentDevice>(*team.policy, device);
  } catch (const std::exception& e) {
    team.fail(rank, e.what());
  }
  team.ready.arrive_and_wait();
  try {
    if (!team.failed.load()) {
      *comm = create(static_cast<uint32_t>(team.failures.size()), &team.root, rank, team.policy,
                     team.options, device);
    }
  } catch (const std::exception& e) {
    team.fail(rank, e.what());
  }
}

HcclResult init_all(uint32_t count, const int32_t* devices, HcclComm* comms) {
  const auto policy = Library::instance().load_policy();
  current_device(*policy);
  require(count != 0, HCCL_E_PARA, "ndev is 0");
  require(comms != nullptr, HCCL_E_PTR, "comms is a null pointer");
  require(devices != nullptr, HCCL_E_PTR, "devices is a null pointer");
  const std::set<int32_t> distinct(devices, devices + count);
  require(distinct.size() == count, HCCL_E_PARA, "devices names a device twice");
  std::fill(comms, comms + count, nullptr);
  Team team(count, default_options(*policy));
  team.policy = policy;
  control::open_root(&team.root, devices[0], config::environment().network);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] { join_team(team, i, devices[i], &comms[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  if (!team.failed.load()) return HCCL_SUCCESS;
  for (uint32_t k = 0; k < count; ++k) {
    if (comms[k] != nullptr) take(comms[k]).reset();
    comms[k] = nullptr;
  }
  const auto first = std::find_if(team.failures.begin(), team.failures.end(),
                                  [](const std::string& text) { return !text.empty(); });
  const auto rank = first - team.failures.begin();
  throw Error(HCCL_E_INTERNAL,
              fmt::format("rank {} on device {}: {}", rank, devices[rank], *first));
}

/// As much of the text as there is room for, and a NUL.
template <size_t Room>
void write_text(char (&to)[Room], std::string_view text) {
  const size_t length = std::min(text.size(), Room - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

}  // namespace
}  // namespace weft::api

using weft::api::communicator;
using weft::api::facts_of;
using weft::api::require;
using weft::api::require_all;

extern "C" {

WEFT_API HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo) {
  return weft::guard("HcclGetRootInfo", [&] {
    require(rootInfo != nullptr, HCCL_E_PTR, "rootInfo is a null pointer");
    const auto policy = weft::comm::Library::instance().load_policy();
    const int32_t device = weft::api::current_device(*policy);
    // A wrong variable is told before anybody waits for this root.
    weft::control::open_root(rootInfo, device, weft::config::environment().network);
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo,
                                         uint32_t rank, HcclComm* comm) {
  constexpr const char* kName = "HcclCommInitRootInfo";
  return weft::guard(kName, [&] {
    return weft::api::join_root(kName, {nRanks, rootInfo, rank, false, nullptr, comm});
  });
}

WEFT_API HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo* rootInfo,
                                               uint32_t rank, const HcclCommConfig* config,
                                               HcclComm* comm) {
  constexpr const char* kName = "HcclCommInitRootInfoConfig";
  return weft::guard(kName, [&] {
    return weft::api::join_root(kName, {nRanks, rootInfo, rank, true, config, comm});
  });
}

WEFT_API HcclResult HcclCommInitAll(uint32_t ndev, int32_t* devices, HcclComm* comms) {
  return weft::guard("HcclCommInitAll", [&] { return weft::api::init_all(ndev, devices, comms); });
}

WEFT_API HcclResult HcclCommDestroy(HcclComm comm) {
  return weft::guard("HcclCommDestroy", [&] {
    if (comm == nullptr) {
      weft::log::warn("HcclCommDestroy: comm is a null pointer, nothing to do");
      return HCCL_SUCCESS;
    }
    if (weft::api::in_group()) {
      weft::api::queue_job("HcclCommDestroy", [comm] { weft::api::destroy(comm); });
    } else {
      weft::api::destroy(comm);
    }
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclGetRankSize(HcclComm comm, uint32_t* rankSize) {
  return weft::guard("HcclGetRankSize", [&] {
    require_all({{"comm", comm}, {"rankSize", rankSize}});
    *rankSize = facts_of(comm).ranks;
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank) {
  return weft::guard("HcclGetRankId", [&] {
    require_all({{"comm", comm}, {"rank", rank}});
    *rank = facts_of(comm).rank;
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclGetCommName(HcclComm comm, char* commName) {
  return weft::guard("HcclGetCommName", [&] {
    require_all({{"comm", comm}, {"commName", commName}});
    const std::string name = facts_of(comm).name;
    require(name.size() < COMM_NAME_MAX_LENGTH, HCCL_E_INTERNAL,
            "the name has over 127 characters");
    std::memcpy(commName, name.c_str(), name.size() + 1);
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclCommGetHandleWithName(const char* commName, HcclComm* comm) {
  return weft::guard("HcclCommGetHandleWithName", [&] {
    require_all({{"commName", commName}, {"comm", comm}});
    const int32_t device = weft::api::current_device();
    const HcclComm found = weft::api::handle_named(device, commName);
    if (found == nullptr) {
      throw weft::Error(HCCL_E_PARA,
                        fmt::format("device {} has no communicator named '{}'", device, commName));
    }
    *comm = found;
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* asyncError) {
  return weft::guard("HcclGetCommAsyncError", [&] {
    require_all({{"comm", comm}, {"asyncError", asyncError}});
    *asyncError = facts_of(comm).health;
    return HCCL_SUCCESS;
  });
}

WEFT_API uint32_t HcclGetCommConfigCapability() { return HCCL_COMM_CONFIG_RESERVED; }

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
