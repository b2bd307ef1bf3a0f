// SPDX-License-Identifier: Apache-2.0
// The world group of a rank table and the groups that are split off it, by name.
#include "api/hcom.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include "api/device.hpp"
#include "api/export.hpp"
#include "api/guard.hpp"
#include "api/handles.hpp"
#include "api/operators.hpp"
#include "base/log.hpp"
#include "hccl/hccl_comm.h"
#include "hccl/hcom.h"

namespace weft::api {
namespace {

struct GroupOfWorld {
  HcclComm world = nullptr;
  std::vector<uint32_t> ranks;  // of the world, ascending
};

/// What HcomInitByFile and HcomCreateGroup have made.
struct Groups {
  std::mutex mutex;
  std::set<HcclComm> worlds;
  std::map<HcclComm, GroupOfWorld> by_comm;
};

Groups& groups() {
  static auto* instance = new Groups;  // leaked: threads may outlive static destructors
  return *instance;
}

/// What another function of the C API has answered and, if it failed, reported.
HcclResult hand_on(HcclResult code, const char* function) {
  return code == HCCL_SUCCESS ? code : report_again(code, function, std::string(last_error()));
}

uint32_t own_rank(const char* identify) {
  const std::string_view text(identify);
  uint32_t rank = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw Error(HCCL_E_PARA,
                fmt::format("identify is '{}'; it is this rank's number in decimal", text));
  }
  return rank;
}

void refuse_in_group() {
  require(!in_group(), HCCL_E_PARA,
          "between HcclGroupStart and HcclGroupEnd no world or group is made or destroyed");
}

HcclResult init_world(const char* path, const char* identify) {
  require_all({{"rankTablePath", path}, {"identify", identify}});
  const uint32_t rank = own_rank(identify);
  refuse_in_group();
  HcclComm comm = nullptr;
  const HcclResult code = HcclCommInitClusterInfo(path, rank, &comm);
  if (code != HCCL_SUCCESS) return hand_on(code, "HcomInitByFile");
  const std::lock_guard lock(groups().mutex);
  groups().worlds.insert(comm);
  return HCCL_SUCCESS;
}

/// Whether the communicator is a group of that world.
bool is_group_of(HcclComm comm, HcclComm world) {
  const std::lock_guard lock(groups().mutex);
  const auto found = groups().by_comm.find(comm);
  return found != groups().by_comm.end() && found->second.world == world;
}

bool is_world(HcclComm comm) {
  const std::lock_guard lock(groups().mutex);
  return groups().worlds.contains(comm);
}

/// World ranks of a group that HcomCreateGroup made.
std::vector<uint32_t> members_of(const std::string& name) {
  const HcclComm comm = group_comm(name);
  const std::lock_guard lock(groups().mutex);
  const auto found = groups().by_comm.find(comm);
  if (found != groups().by_comm.end()) return found->second.ranks;
  throw Error(HCCL_E_NOT_FOUND,
              fmt::format("'{}' is a communicator, but no group of HcomCreateGroup", name));
}

std::vector<uint32_t> sorted_members(const std::string& name, const Facts& world,
                                     uint32_t rank_count, const uint32_t* ids) {
  std::vector<uint32_t> ranks(ids, ids + rank_count);
  std::sort(ranks.begin(), ranks.end());
  if (ranks.back() >= world.ranks) {
    throw Error(HCCL_E_PARA, fmt::format("rankIds has {}; the world has ranks 0..{}", ranks.back(),
                                         world.ranks - 1));
  }
  const auto twice = std::adjacent_find(ranks.begin(), ranks.end());
  if (twice != ranks.end()) {
    throw Error(HCCL_E_PARA, fmt::format("rankIds has {} twice", *twice));
  }
  if (!std::binary_search(ranks.begin(), ranks.end(), world.rank)) {
    throw Error(HCCL_E_NOT_FOUND,
                fmt::format("rankIds of '{}' is {}, without this rank, which is {}; only members "
                            "make a group",
                            name, fmt::join(ranks, ","), world.rank));
  }
  return ranks;
}

HcclResult create_group(const char* group, uint32_t rank_count, uint32_t* ids) {
  require_all({{"group", group}, {"rankIds", ids}});
  const std::string name = group_name(group);
  require(name != kWorldGroup, HCCL_E_PARA, "hccl_world_group is the name of the world");
  require(rank_count != 0, HCCL_E_PARA, "rankNum is 0");
  const int32_t device = current_device();
  HcclComm comm = handle_named(device, kWorldGroup);
  const HcclComm same_name = handle_named(device, name);
  const bool known = is_world(comm);
  // Another rank of this device may have the group already.
  if (same_name != nullptr && (!known || is_group_of(same_name, comm))) {
    throw Error(HCCL_E_PARA, fmt::format("there is a '{}' on device {} already", name, device));
  }
  require(comm != nullptr, HCCL_E_PTR, "there is no world group; call HcomInitByFile first");
  require(known, HCCL_E_INTERNAL,
          "the world group does not come from HcomInitByFile, so its rank table is not known; "
          "split it with HcclCreateSubCommConfig");
  const Facts world = facts_of(comm);
  std::vector<uint32_t> ranks = sorted_members(name, world, rank_count, ids);
  const auto rank = std::lower_bound(ranks.begin(), ranks.end(), world.rank) - ranks.begin();
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  std::memcpy(config.hcclCommName, name.c_str(), name.size() + 1);
  HcclComm sub = nullptr;
  const HcclResult code = HcclCreateSubCommConfig(&comm, rank_count, ranks.data(), 0,
                                                  static_cast<uint32_t>(rank), &config, &sub);
  if (code != HCCL_SUCCESS) return hand_on(code, "HcomCreateGroup");
  const std::lock_guard lock(groups().mutex);
  groups().by_comm[sub] = {comm, std::move(ranks)};
  return HCCL_SUCCESS;
}

HcclResult destroy_group(const char* group, const char* function) {
  require_all({{"group", group}});
  refuse_in_group();
  const std::string name = group_name(group);
  require(name != kWorldGroup, HCCL_E_PARA, "the world group is destroyed by HcomDestroy");
  static_cast<void>(members_of(name));
  return hand_on(HcclCommDestroy(group_comm(name)), function);
}

HcclResult destroy_world() {
  constexpr const char* kFunction = "HcomDestroy";
  refuse_in_group();
  const HcclComm comm = handle_named(current_device(), kWorldGroup);
  if (!is_world(comm)) {
    log::warn("HcomDestroy: there is no world group of HcomInitByFile, nothing to do");
    return HCCL_SUCCESS;
  }
  std::vector<HcclComm> all;
  {
    const std::lock_guard lock(groups().mutex);
    for (const auto& [group, about] : groups().by_comm) {
      if (about.world == comm) all.push_back(group);
    }
  }
  all.push_back(comm);
  for (const HcclComm each : all) {
    const HcclResult code = HcclCommDestroy(each);
    if (code != HCCL_SUCCESS) return hand_on(code, kFunction);
  }
  return HCCL_SUCCESS;
}

uint32_t local_size(const Facts& facts) { return facts.ranks / facts.servers; }

/// Writes what `ask` says of a group's communicator.
template <class Ask>
HcclResult query(const char* function, const char* group, uint32_t* answer, const char* name,
                 const Ask& ask) {
  return guard(function, [&] {
    require_all({{name, answer}});
    *answer = ask(facts_of(group_comm(group_name(group))));
    return HCCL_SUCCESS;
  });
}

uint32_t world_rank_of(const std::string& name, uint32_t group_rank) {
  const Facts world = facts_of(group_comm(kWorldGroup));
  if (group_rank >= world.ranks) {
    throw Error(HCCL_E_PARA, fmt::format("groupRank is {}; the world has ranks 0..{}", group_rank,
                                         world.ranks - 1));
  }
  if (name == kWorldGroup) return group_rank;
  const std::vector<uint32_t> members = members_of(name);
  if (group_rank >= members.size()) {
    throw Error(HCCL_E_PARA, fmt::format("groupRank is {}; '{}' has ranks 0..{}", group_rank, name,
                                         members.size() - 1));
  }
  return members[group_rank];
}

uint32_t group_rank_of(const std::string& name, uint32_t world_rank) {
  if (name == kWorldGroup) return world_rank_of(name, world_rank);
  const std::vector<uint32_t> members = members_of(name);
  const auto found = std::lower_bound(members.begin(), members.end(), world_rank);
  if (found == members.end() || *found != world_rank) {
    throw Error(HCCL_E_PARA, fmt::format("rank {} of the world is no member of '{}', whose are {}",
                                         world_rank, name, fmt::join(members, ",")));
  }
  return static_cast<uint32_t>(found - members.begin());
}

}  // namespace

std::string group_name(const char* group) {
  if (group == nullptr) return kWorldGroup;
  const size_t length = strnlen(group, COMM_NAME_MAX_LENGTH);
  if (length == 0 || length == COMM_NAME_MAX_LENGTH) {
    throw Error(HCCL_E_PARA, length == 0 ? "the name of the group is empty"
                                         : "the name of the group has over 127 characters");
  }
  return {group, length};
}

void forget_group(HcclComm comm) {
  forget_fusion(comm);
  const std::lock_guard lock(groups().mutex);
  groups().worlds.erase(comm);
  groups().by_comm.erase(comm);
}

HcclComm group_comm(const std::string& name) {
  const int32_t device = current_device();
  const HcclComm found = handle_named(device, name);
  if (found != nullptr) return found;
  throw Error(HCCL_E_NOT_FOUND,
              device < 0 ? fmt::format("there is no group '{}'; this process has none", name)
                         : fmt::format("device {} has no group '{}'", device, name));
}

}  // namespace weft::api

using weft::guard;
using weft::api::Facts;
using weft::api::group_name;
using weft::api::require_all;

extern "C" {

WEFT_API HcclResult HcomInitByFile(const char* rankTablePath, const char* identify) {
  return guard("HcomInitByFile", [&] { return weft::api::init_world(rankTablePath, identify); });
}

WEFT_API HcclResult HcomDestroy(void) {
  return guard("HcomDestroy", [] { return weft::api::destroy_world(); });
}

WEFT_API HcclResult HcomCreateGroup(const char* group, uint32_t rankNum, uint32_t* rankIds) {
  return guard("HcomCreateGroup", [&] { return weft::api::create_group(group, rankNum, rankIds); });
}

WEFT_API HcclResult HcomDestroyGroup(const char* group) {
  return guard("HcomDestroyGroup",
               [&] { return weft::api::destroy_group(group, "HcomDestroyGroup"); });
}

WEFT_API HcclResult HcomGetRankSize(const char* group, uint32_t* rankSize) {
  return weft::api::query("HcomGetRankSize", group, rankSize, "rankSize",
                          [](const Facts& facts) { return facts.ranks; });
}

WEFT_API HcclResult HcomGetRankId(const char* group, uint32_t* rankId) {
  return weft::api::query("HcomGetRankId", group, rankId, "rankId",
                          [](const Facts& facts) { return facts.rank; });
}

WEFT_API HcclResult HcomGetLocalRankSize(const char* group, uint32_t* localRankSize) {
  return weft::api::query("HcomGetLocalRankSize", group, localRankSize, "localRankSize",
                          weft::api::local_size);
}

WEFT_API HcclResult HcomGetLocalRankId(const char* group, uint32_t* localRankId) {
  return weft::api::query(
      "HcomGetLocalRankId", group, localRankId, "localRankId",
      [](const Facts& facts) { return facts.rank % weft::api::local_size(facts); });
}

WEFT_API HcclResult HcomGetWorldRankFromGroupRank(const char* group, uint32_t groupRank,
                                                  uint32_t* worldRank) {
  return guard("HcomGetWorldRankFromGroupRank", [&] {
    require_all({{"worldRank", worldRank}});
    *worldRank = weft::api::world_rank_of(group_name(group), groupRank);
    return HCCL_SUCCESS;
  });
}

WEFT_API HcclResult HcomGetGroupRankFromWorldRank(uint32_t worldRank, const char* group,
                                                  uint32_t* groupRank) {
  return guard("HcomGetGroupRankFromWorldRank", [&] {
    require_all({{"groupRank", groupRank}});
    *groupRank = weft::api::group_rank_of(group_name(group), worldRank);
    return HCCL_SUCCESS;
  });
}

}  // extern "C"
