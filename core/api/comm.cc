// SPDX-License-Identifier: Apache-2.0
// Communicator management of the C API: check arguments, create, query, destroy.
#include "weft/comm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "api/comm_config.hpp"
#include "api/device.hpp"
#include "api/export.hpp"
#include "api/guard.hpp"
#include "api/handles.hpp"
#include "api/hcom.hpp"
#include "api/operators.hpp"
#include "api/side_by_side.hpp"
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
  ReservedName name({device, options.name, origin, rank});
  return name.take(Communicator::create(*root, ranks, rank, std::move(policy), std::move(options)));
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
  require_idle(comm);
  change.tell(HCCL_COMM_STATE_PHASE_DESTROY_PRE);
  std::unique_ptr<Communicator> taken;
  if (!give_up_joining(comm)) {  // else nothing was called on it so far
    taken = take_idle(comm);
    if (taken == nullptr) refuse_handle();
  }
  forget_group(comm);
  if (taken != nullptr) {
    taken->tell_experiments();
    taken->tell_idle_policy();
  }
  taken.reset();
  change.tell(HCCL_COMM_STATE_PHASE_DESTROY_POST);
}

/// At the end of the group, on a thread with the device that is current now, if there is one.
void queue_destroy(HcclComm comm) {
  const int32_t device = device_of_thread();
  queue_job("HcclCommDestroy", [comm, device] {
    std::optional<CurrentDevice> current;
    if (device >= 0) current.emplace(*Library::instance().any_transport(), device);
    destroy(comm);
  });
}

constexpr uint32_t kMostRanks = 32768;  // of one process

/// The ranks of one HcclCommInitAll, each on a thread of its own.
class Team {
 public:
  Team(std::shared_ptr<const config::Policy> policy, std::span<const int32_t> devices)
      : policy_(std::move(policy)),
        options_(default_options(*policy_)),
        devices_(devices),
        ready_(static_cast<std::ptrdiff_t>(devices.size())) {}

  void join(uint32_t rank, HcclComm* comm);
  /// A rank without a thread.
  void miss(uint32_t rank, const char* why);
  /// Throws Error if a rank has failed. All have returned.
  void finish();

 private:
  void open_root();
  void fail(uint32_t rank, HcclResult code, const char* text);
  [[nodiscard]] bool failed() {
    const std::lock_guard lock(mutex_);
    return !failure_.empty();
  }

  const std::shared_ptr<const config::Policy> policy_;
  const comm::Options options_;
  const std::span<const int32_t> devices_;
  std::latch ready_;  // all have their device or have failed: nobody waits for one that has

  std::mutex mutex_;  // of all below
  HcclRootInfo root_{};
  bool open_ = false;
  // The first failure: others may follow from it. That of a rank is HCCL_E_INTERNAL.
  HcclResult code_ = HCCL_E_INTERNAL;
  std::string failure_;
};

void Team::join(uint32_t rank, HcclComm* comm) {
  std::optional<CurrentDevice> current;
  const auto attempt = [&](const auto& body) {
    try {
      body();
    } catch (const Error& error) {
      fail(rank, error.code(), error.what());
    } catch (const std::exception& error) {
      fail(rank, HCCL_E_INTERNAL, error.what());
    }
  };
  attempt([&] { current.emplace(*policy_, devices_[rank]); });
  ready_.arrive_and_wait();
  attempt([&] {
    open_root();
    if (failed()) return;
    *comm = create(static_cast<uint32_t>(devices_.size()), &root_, rank, policy_, options_,
                   devices_[rank]);
  });
}

void Team::miss(uint32_t rank, const char* why) {
  fail(rank, HCCL_E_INTERNAL, fmt::format("no thread for it: {}", why).c_str());
  ready_.count_down();
}

/// By the first rank that comes, when all have their devices.
void Team::open_root() {
  const std::lock_guard lock(mutex_);
  if (open_ || !failure_.empty()) return;
  try {
    control::open_root(&root_, devices_[0], config::environment().network);
    open_ = true;
  } catch (const Error& error) {
    code_ = error.code();
    failure_ = error.what();
  }
}

void Team::fail(uint32_t rank, HcclResult code, const char* text) {
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) return;
  failure_ = fmt::format("rank {} on device {}: {}", rank, devices_[rank], text);
  if (open_) {
    control::abandon_root(root_, static_cast<uint32_t>(devices_.size()), code, failure_);
  }
}

void Team::finish() {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) return;
  if (open_) control::close_root(root_);
  throw Error(code_, failure_);
}

HcclResult init_all(uint32_t count, const int32_t* devices, HcclComm* comms) {
  auto policy = Library::instance().load_policy();
  current_device(*policy);
  require(count != 0, HCCL_E_PARA, "ndev is 0");
  if (count > kMostRanks) {
    throw Error(HCCL_E_PARA, fmt::format("ndev is {}; at most {} are possible", count, kMostRanks));
  }
  require(comms != nullptr, HCCL_E_PTR, "comms is a null pointer");
  require(devices != nullptr, HCCL_E_PTR, "devices is a null pointer");
  const std::set<int32_t> distinct(devices, devices + count);
  require(distinct.size() == count, HCCL_E_PARA, "devices names a device twice");
  std::fill(comms, comms + count, nullptr);
  Team team(std::move(policy), {devices, count});
  run_side_by_side(
      count, [&](size_t i) { team.join(static_cast<uint32_t>(i), &comms[i]); },
      [&](size_t i, const char* why) { team.miss(static_cast<uint32_t>(i), why); });
  try {
    team.finish();
  } catch (const Error&) {
    for (HcclComm& comm : std::span(comms, count)) {
      if (comm != nullptr) take(comm).reset();
      comm = nullptr;
    }
    throw;
  }
  return HCCL_SUCCESS;
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
      weft::api::queue_destroy(comm);
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
    const std::string name = facts_of(comm).name;  // of less than COMM_NAME_MAX_LENGTH characters
    std::memcpy(commName, name.c_str(), name.size() + 1);
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcclCommGetHandleWithName(const char* commName, HcclComm* comm) {
  return weft::guard("HcclCommGetHandleWithName", [&] {
    require_all({{"commName", commName}, {"comm", comm}});
    const int32_t device = weft::api::current_device();
    const HcclComm found = weft::api::handle_named(device, commName);
    if (found == nullptr) weft::api::refuse_name(device, commName);
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

}  // extern "C"
