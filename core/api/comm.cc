// SPDX-License-Identifier: Apache-2.0
// Communicator management of the C API: check arguments, create, query, destroy.
#include "weft/comm.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <latch>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/comm_config.hpp"
#include "api/export.hpp"
#include "api/guard.hpp"
#include "api/handles.hpp"
#include "base/log.hpp"
#include "comm/library.hpp"
#include "hccl/hccl_comm.h"

namespace weft::api {
namespace {

using comm::Communicator;
using comm::Library;

/// Device of the calling thread. Throws Error if none is set.
int32_t current_device(const config::Policy& policy) {
  const comm::OpenTransport transport = Library::instance().transport(policy.settings().transport);
  int32_t device = -1;
  const int32_t code = transport.table->get_device(transport.context, &device);
  if (code != HCCL_SUCCESS) {
    throw Error(static_cast<HcclResult>(code),
                fmt::format("no current device ({}); call aclrtSetDevice on this thread first",
                            plugin::take_failure()));
  }
  return device;
}

void require(bool condition, HcclResult code, const char* what) {
  if (!condition) throw Error(code, what);
}

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

HcclResult init(uint32_t ranks, const HcclRootInfo* root, uint32_t rank, bool with_config,
                const HcclCommConfig* config, HcclComm* comm) {
  const auto policy = Library::instance().load_policy();
  const int32_t device = current_device(*policy);
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
  return HCCL_SUCCESS;
}

/// The ranks of one HcclCommInitAll, each on a thread of its own.
struct Team {
  Team(uint32_t ranks, comm::Options given)
      : options(std::move(given)), failures(ranks), ready(ranks) {}

  HcclRootInfo root;
  std::shared_ptr<const config::Policy> policy;
  const comm::Options options;
  std::vector<std::string> failures;  // by rank; empty: none
  std::atomic<bool> failed{false};
  std::latch ready;  // all have their device, or have failed: nobody waits for one that has
};

void join_team(Team& team, uint32_t rank, int32_t device, HcclComm* comm) {
  const comm::OpenTransport t = Library::instance().transport(team.policy->settings().transport);
  const bool set = t.table->set_device(t.context, device) == HCCL_SUCCESS;
  if (!set) {
    team.failures[rank] = plugin::take_failure();
    team.failed.store(true);
  }
  team.ready.arrive_and_wait();
  try {
    if (!team.failed.load()) {
      *comm = create(static_cast<uint32_t>(team.failures.size()), &team.root, rank, team.policy,
                     team.options, device);
    }
  } catch (const std::exception& e) {
    team.failures[rank] = e.what();
    team.failed.store(true);
  }
  if (set) t.table->reset_device(t.context, device);
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
  control::open_root(&team.root, devices[0]);
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

/// The communicator of a handle that is not null. Throws Error.
Communicator& checked(HcclComm handle) {
  require(handle != nullptr, HCCL_E_PTR, "comm is a null pointer");
  Communicator* found = find(handle);
  require(found != nullptr, HCCL_E_PARA, "comm is no communicator of this process (destroyed?)");
  return *found;
}

}  // namespace
}  // namespace weft::api

using weft::api::checked;
using weft::api::require;

extern "C" {

WEFT_API HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo) {
  return weft::guard("HcclGetRootInfo", [&] {
    require(rootInfo != nullptr, HCCL_E_PTR, "rootInfo is a null pointer");
    const auto policy = weft::comm::Library::instance().load_policy();
    const int32_t device = weft::api::current_device(*policy);
    // A wrong variable is told before anybody waits for this root.
    (void)weft::api::default_options(*policy);
    weft::control::open_root(rootInfo, device);
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo,
                                         uint32_t rank, HcclComm* comm) {
  return weft::guard("HcclCommInitRootInfo",
                     [&] { return weft::api::init(nRanks, rootInfo, rank, false, nullptr, comm); });
}

WEFT_API HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo* rootInfo,
                                               uint32_t rank, const HcclCommConfig* config,
                                               HcclComm* comm) {
  return weft::guard("HcclCommInitRootInfoConfig",
                     [&] { return weft::api::init(nRanks, rootInfo, rank, true, config, comm); });
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
    if (checked(comm).busy()) {
      throw weft::Error(HCCL_E_AGAIN,
                        "a call of this communicator has not ended; synchronise its "
                        "streams and try again");
    }
    weft::api::take(comm).reset();
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclGetRankSize(HcclComm comm, uint32_t* rankSize) {
  return weft::guard("HcclGetRankSize", [&] {
    require(comm != nullptr, HCCL_E_PTR, "comm is a null pointer");
    require(rankSize != nullptr, HCCL_E_PTR, "rankSize is a null pointer");
    *rankSize = checked(comm).ranks();
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank) {
  return weft::guard("HcclGetRankId", [&] {
    require(comm != nullptr, HCCL_E_PTR, "comm is a null pointer");
    require(rank != nullptr, HCCL_E_PTR, "rank is a null pointer");
    *rank = checked(comm).rank();
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclGetCommName(HcclComm comm, char* commName) {
  return weft::guard("HcclGetCommName", [&] {
    require(comm != nullptr, HCCL_E_PTR, "comm is a null pointer");
    require(commName != nullptr, HCCL_E_PTR, "commName is a null pointer");
    const std::string& name = checked(comm).name();
    require(name.size() < COMM_NAME_MAX_LENGTH, HCCL_E_INTERNAL,
            "the name has over 127 characters");
    std::memcpy(commName, name.c_str(), name.size() + 1);
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* asyncError) {
  return weft::guard("HcclGetCommAsyncError", [&] {
    require(comm != nullptr, HCCL_E_PTR, "comm is a null pointer");
    require(asyncError != nullptr, HCCL_E_PTR, "asyncError is a null pointer");
    *asyncError = static_cast<HcclResult>(checked(comm).health());
    return HCCL_SUCCESS;
  });
}

WEFT_API uint32_t HcclGetCommConfigCapability() { return HCCL_COMM_CONFIG_RESERVED; }

WEFT_API HcclResult weft_comm_last_call(HcclComm comm, weft_call_info* info) {
  return weft::guard("weft_comm_last_call", [&] {
    require(comm != nullptr, HCCL_E_PTR, "comm is a null pointer");
    require(info != nullptr, HCCL_E_PTR, "info is a null pointer");
    require(info->head.major == WEFT_ABI_MAJOR && info->head.size >= sizeof(weft_call_info),
            HCCL_E_PARA, "info.head was not set with WEFT_HEAD(weft_call_info)");
    const weft::comm::LastCall& last = checked(comm).last_call();
    require(last.plan != nullptr, HCCL_E_NOT_FOUND, "no operator was called so far");
    std::snprintf(info->algorithm, sizeof info->algorithm, "%s", last.plan->algorithm.c_str());
    std::snprintf(info->source, sizeof info->source, "%s", last.plan->source.c_str());
    info->pieces = last.plan->plan.pieces;
    info->staged_in = last.staged_in ? 1 : 0;
    info->staged_out = last.staged_out ? 1 : 0;
    return HCCL_SUCCESS;
  });
}

WEFT_API const char* weft_last_error(void) { return weft::last_error(); }

}  // extern "C"
