// SPDX-License-Identifier: Apache-2.0
// HcclCreateSubCommConfig: checks and takes memory at once; the members meet on a thread of the
// library, and the first call that needs them waits for that. So a member waits for nobody here, in
// whatever order sub communicators are made, and one thread can make those of several ranks.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "api/comm_config.hpp"
#include "api/device.hpp"
#include "api/export.hpp"
#include "api/guard.hpp"
#include "api/handles.hpp"
#include "api/operators.hpp"
#include "base/log.hpp"
#include "base/thread.hpp"
#include "comm/library.hpp"
#include "config/environment.hpp"
#include "hccl/hccl_comm.h"

namespace weft::api {
namespace {

using comm::Communicator;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kNoMember = 0xFFFFFFFF;  // the subCommId of ranks that are none

struct Request {
  HcclComm* comm;
  std::span<const uint32_t> members;
  uint64_t id;
  uint32_t rank;
  HcclCommConfig* config;
  HcclComm* sub;
};

/// What the members need to meet.
struct Joiner {
  std::shared_ptr<Joining> joining;
  std::unique_ptr<Communicator> made;
  std::shared_ptr<comm::Invitations::Meeting> meeting;
  std::chrono::milliseconds timeout;
};

void meet(Joiner& joiner) {
  const Clock::time_point deadline = Clock::now() + joiner.timeout;
  const HcclRootInfo root = joiner.meeting->root(joiner.timeout);
  const Communicator::Scope scope(*joiner.made);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  joiner.made->join(root, std::max(left, std::chrono::milliseconds(0)));
}

/// Which communicator it is about: a process has many.
Error named(const std::string& name, const Error& error) {
  return {error.code(), fmt::format("communicator {}: {}", name, error.what())};
}

void carry_out(Joiner& joiner) noexcept {
  Error failure(HCCL_E_INTERNAL, "");
  try {
    meet(joiner);
    joiner.meeting.reset();  // the parent may go away
    joined(*joiner.joining, std::move(joiner.made));
    return;
  } catch (const Error& error) {
    // That nobody answers has a reason, which the parent may know.
    const bool vague = error.code() == HCCL_E_REMOTE || error.code() == HCCL_E_TCP_CONNECT;
    failure = vague ? joiner.meeting->failure().value_or(error) : error;
    const std::string hint = joiner.meeting->hint();
    if (error.code() == HCCL_E_TIMEOUT && !hint.empty()) {
      failure = Error(error.code(), fmt::format("{}; {}", error.what(), hint));
    }
  } catch (const std::exception& error) {
    failure = Error(HCCL_E_INTERNAL, error.what());
  }
  joiner.meeting->withdraw(failure);
  failure = named(joiner.made->name(), failure);
  log::info(fmt::format("did not come about: {}", failure.what()));
  joiner.meeting.reset();
  joiner.made.reset();
  join_failed(*joiner.joining, failure.code(), failure.what());
}

void check_members(const Request& request, const Facts& parent) {
  const auto& [comm, members, id, rank, config, sub] = request;
  std::set<uint32_t> distinct;
  for (const uint32_t member : members) {
    if (member >= parent.ranks) {
      throw Error(HCCL_E_PARA, fmt::format("rankIds has {}; {} has ranks 0..{}", member,
                                           parent.name, parent.ranks - 1));
    }
    if (!distinct.insert(member).second) {
      throw Error(HCCL_E_PARA, fmt::format("rankIds has {} twice", member));
    }
  }
  if (!distinct.contains(parent.rank)) {
    throw Error(HCCL_E_NOT_FOUND,
                fmt::format("rankIds is {}, without this rank, which is {} of {}; ranks that are "
                            "no members pass rankIds NULL and subCommId 0xFFFFFFFF",
                            fmt::join(members, ","), parent.rank, parent.name));
  }
  if (members[rank] != parent.rank) {
    throw Error(HCCL_E_PARA,
                fmt::format("subCommRankId is {}, where rankIds has {}; this rank is {} of {}",
                            rank, members[rank], parent.rank, parent.name));
  }
}

std::string default_name(const Facts& parent, uint64_t id) {
  std::string name = fmt::format("{}_sub_{}", parent.name, id);
  if (name.size() >= COMM_NAME_MAX_LENGTH) {
    throw Error(HCCL_E_PARA, fmt::format("the default name {} has over 127 characters; give one in "
                                         "hcclCommName",
                                         name));
  }
  return name;
}

/// That of all roots, but for their ports: there may be more sub communicators in the making than
/// those.
control::Network network_of_roots() {
  control::Network made = config::environment().network;
  made.ports.clear();
  return made;
}

/// The local half, and the beginning of the other one.
HcclComm create(const Request& request, const Facts& parent, ReservedName& name, int32_t device,
                std::shared_ptr<const config::Policy> policy, comm::Options options) {
  check_members(request, parent);
  const Communicator& whole = communicator(*request.comm);
  for (const uint32_t member : request.members) {
    options.servers.push_back(whole.server_of(member));
  }
  const std::set<std::string> servers(options.servers.begin(), options.servers.end());
  const auto ranks = static_cast<uint32_t>(request.members.size());
  auto joiner = std::make_shared<Joiner>();
  joiner->timeout = options.connect_timeout;
  joiner->made = Communicator::open(ranks, request.rank, std::move(policy), options);
  joiner->joining = std::make_shared<Joining>();
  joiner->joining->facts = {ranks, request.rank, static_cast<uint32_t>(servers.size()),
                            options.name};
  // Last, since the others count on it.
  try {
    joiner->meeting = whole.invitations()->arrange(
        options.name, {request.members.begin(), request.members.end()}, device, network_of_roots());
  } catch (const Error& error) {
    throw named(options.name, error);
  }
  joiner->joining->meeting = joiner->meeting;
  HcclComm handle = nullptr;
  try {
    handle = name.take(joiner->joining);
    start_detached([joiner] { carry_out(*joiner); });
  } catch (const std::exception& error) {
    joiner->meeting->withdraw(Error(HCCL_E_INTERNAL, error.what()));
    static_cast<void>(give_up_joining(handle));
    throw;
  }
  return handle;
}

void create(const Request& request, int32_t device, std::shared_ptr<const config::Policy> policy) {
  const auto& [comm, members, id, rank, config, sub] = request;
  require(members.size() != 0, HCCL_E_PARA, "rankNum is 0");
  if (rank >= members.size()) {
    throw Error(HCCL_E_PARA, fmt::format("subCommRankId is {}, rankNum is {}: ranks are 0..{}",
                                         rank, members.size(), members.size() - 1));
  }
  require_all({{"config", config}, {"comm", comm}});
  require_all({{"*comm", *comm}});
  *sub = nullptr;
  const Communicator& whole = communicator(*comm);
  const Facts parent = facts_of(*comm);
  if (members.size() > parent.ranks) {  // then some are there twice, or are none
    throw Error(HCCL_E_PARA, fmt::format("rankNum is {}; {} has {} ranks", members.size(),
                                         parent.name, parent.ranks));
  }
  if (whole.device() != device) {
    throw Error(HCCL_E_PARA, fmt::format("this thread's device is {}, that of {} is {}; call "
                                         "aclrtSetDevice first",
                                         device, parent.name, whole.device()));
  }
  comm::Options options = default_options(*policy);
  apply_config(config, options);
  if (options.name.empty()) options.name = default_name(parent, id);
  options.sub = true;
  warn_of_idle_wishes(options.algo, *policy);
  ReservedName name({device, options.name,
                     fmt::format("{}/{}", use_of(*comm).origin, fmt::join(members, ",")), rank});
  *sub = create(request, parent, name, device, std::move(policy), options);
}

}  // namespace
}  // namespace weft::api

extern "C" WEFT_API HcclResult HcclCreateSubCommConfig(HcclComm* comm, uint32_t rankNum,
                                                       uint32_t* rankIds, uint64_t subCommId,
                                                       uint32_t subCommRankId,
                                                       HcclCommConfig* config, HcclComm* subComm) {
  return weft::guard("HcclCreateSubCommConfig", [&] {
    const auto policy = weft::comm::Library::instance().load_policy();
    const int32_t device = weft::api::current_device(*policy);
    weft::api::require_all({{"subComm", subComm}});
    if (*subComm != nullptr) {
      weft::log::warn("HcclCreateSubCommConfig: *subComm is not a null pointer, it is replaced");
    }
    const bool no_member = subCommId == weft::api::kNoMember;
    if (rankIds == nullptr && no_member) return HCCL_SUCCESS;
    weft::api::require(
        rankIds != nullptr && !no_member, HCCL_E_PARA,
        "one of rankIds NULL and subCommId 0xFFFFFFFF comes without the other; ranks "
        "that are no members pass both");
    weft::api::create({comm, {rankIds, rankNum}, subCommId, subCommRankId, config, subComm}, device,
                      policy);
    return HCCL_SUCCESS;
  });
}
