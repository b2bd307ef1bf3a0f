// SPDX-License-Identifier: Apache-2.0
// Communicators from rank tables: HcclCommInitClusterInfo and HcclCommInitClusterInfoConfig.
#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "api/comm_config.hpp"
#include "api/device.hpp"
#include "api/export.hpp"
#include "api/group.hpp"
#include "api/guard.hpp"
#include "api/handles.hpp"
#include "api/hcom.hpp"
#include "api/operators.hpp"
#include "cluster/rank_table.hpp"
#include "config/environment.hpp"
#include "hccl/hccl_comm.h"

namespace weft::api {
namespace {

using PolicyPointer = std::shared_ptr<const config::Policy>;

constexpr const char* kLoopback = "127.0.0.1";
constexpr control::Ports kPorts[] = {{60000, 60031}};  // unless the environment limits them

/// Of HcclCommInitClusterInfo, or of HcclCommInitClusterInfoConfig if `with_config`.
struct TableArguments {
  const char* path;
  uint32_t rank;
  bool with_config;
  const HcclCommConfig* config;
  HcclComm* comm;
};

void check_arguments(const TableArguments& given) {
  require_all({{"clusterInfo", given.path}, {"comm", given.comm}});
  if (given.with_config) require_all({{"config", given.config}});
}

void check_place(const cluster::RankTable& table, const TableArguments& given,
                 const config::Policy& policy, int32_t device) {
  if (given.rank >= table.ranks.size()) {
    throw Error(HCCL_E_PARA, fmt::format("rank table {}: rank is {}, the table has the ranks 0..{}",
                                         given.path, given.rank, table.ranks.size() - 1));
  }
  const cluster::RankTable::Place& place = table.ranks[given.rank];
  const int32_t physical = physical_device(policy, device);
  if (static_cast<int32_t>(place.device) == physical) return;
  throw Error(HCCL_E_UNAVAIL,
              fmt::format("rank table {}: rank {} is on device {} of server '{}', but the current "
                          "device of this thread is device {}, which has the number {} on the "
                          "host; set the right device or correct the table",
                          given.path, given.rank, place.device, table.servers[place.server], device,
                          physical));
}

/// Where rank 0 listens, the same on all ranks: as the table says it, or else on this host, at a
/// port that belongs to its device.
HcclRootInfo root_of(const cluster::RankTable& table) {
  control::KnownRoot root;
  root.ip = table.root_ip.empty() ? kLoopback : table.root_ip;
  root.port = table.root_port;
  if (root.port == 0) {
    std::span<const control::Ports> ports = config::environment().network.ports;
    if (ports.empty()) ports = kPorts;
    root.port = control::port_at(ports, table.ranks[0].device);
  }
  root.table = table.digest;
  HcclRootInfo info;
  control::write_known_root(root, &info);
  return info;
}

std::unique_ptr<comm::Communicator> meet(const cluster::RankTable& table,
                                         const TableArguments& given, const PolicyPointer& policy,
                                         const comm::Options& options) {
  try {
    const HcclRootInfo root = root_of(table);
    const auto ranks = static_cast<uint32_t>(table.ranks.size());
    auto made = comm::Communicator::open(ranks, given.rank, policy, options);
    // Not before what may be lacking is there: the port stays taken until all ranks have come.
    if (given.rank == 0)
      control::serve_known_root(root, options.connect_timeout, config::environment().network);
    made->join(root, options.connect_timeout);
    return made;
  } catch (const Error& error) {
    std::string text = fmt::format("rank table {}: {}", given.path, error.what());
    if (error.code() == HCCL_E_TIMEOUT && table.root_ip.empty() && table.servers.size() > 1) {
      text +=
          " (the table does not say at which address rank 0 is met, so its ranks meet only if they "
          "are all on one host)";
    }
    throw Error(error.code(), text);
  }
}

void init_from_table(const TableArguments& given, const PolicyPointer& policy, int32_t device) {
  *given.comm = nullptr;
  comm::Options options = default_options(*policy);
  if (given.with_config) apply_config(given.config, options);
  if (options.name.empty()) options.name = kWorldGroup;
  cluster::RankTableFile file(given.path);
  ReservedName name({device, options.name, fmt::format("the rank table {}", given.path), given.rank,
                     /*from_table=*/true});
  const cluster::RankTable table = file.table();
  check_place(table, given, *policy, device);
  for (const auto& place : table.ranks) options.servers.push_back(table.servers[place.server]);
  warn_of_idle_wishes(options.algo, *policy);
  *given.comm = name.take(meet(table, given, policy, options));
}

/// Joins now; in a group at its end, on a thread with the device that is current now.
HcclResult join_table(const char* function, const TableArguments& given) {
  const PolicyPointer policy = comm::Library::instance().load_policy();
  const int32_t device = current_device(*policy);
  check_arguments(given);
  if (in_group()) {
    queue_job(function, [given, policy, device] {
      const CurrentDevice current(*policy, device);
      init_from_table(given, policy, device);
    });
  } else {
    init_from_table(given, policy, device);
  }
  return HCCL_SUCCESS;
}

}  // namespace
}  // namespace weft::api

extern "C" {

WEFT_API HcclResult HcclCommInitClusterInfo(const char* clusterInfo, uint32_t rank,
                                            HcclComm* comm) {
  constexpr const char* kName = "HcclCommInitClusterInfo";
  return weft::guard(kName, [&] {
    return weft::api::join_table(kName, {clusterInfo, rank, false, nullptr, comm});
  });
}

WEFT_API HcclResult HcclCommInitClusterInfoConfig(const char* clusterInfo, uint32_t rank,
                                                  HcclCommConfig* config, HcclComm* comm) {
  constexpr const char* kName = "HcclCommInitClusterInfoConfig";
  return weft::guard(kName, [&] {
    return weft::api::join_table(kName, {clusterInfo, rank, true, config, comm});
  });
}

}  // extern "C"
