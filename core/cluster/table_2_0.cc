// SPDX-License-Identifier: Apache-2.0
// Rank tables of version 2.0: ranks with the networks that they are in, layer by layer. Numbers are
// JSON numbers, and whatever is wrong or missing is a parameter error. Ranks in one network of
// layer 0 are on one server.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/formats.hpp"

namespace weft::cluster {
namespace {

constexpr std::uint32_t kMostRanks = 65536;
constexpr std::uint32_t kSpare = 64;  // local_id of the device that stands in for another
constexpr std::size_t kMostLevels = 8;
constexpr std::size_t kMostAddresses = 24;
constexpr std::size_t kMostBackups = 16;
constexpr std::size_t kMostPorts = 16;
constexpr std::size_t kLongestPort = 32;
constexpr std::size_t kLongestName = 1024;
constexpr std::size_t kLongestAddress = 256;
constexpr std::size_t kEidDigits = 32;

const std::string& one_of(const Node& node, std::initializer_list<const char*> allowed) {
  const std::string& text = node.text();
  std::string list;
  for (const char* each : allowed) {
    if (text == each) return text;
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", each);
  }
  node.refuse("allowed are " + list);
}

/// As size(), at most `most`.
std::size_t count_of(const Node& array, std::size_t least, std::size_t most) {
  const std::size_t size = array.size();
  if (size < least || size > most) {
    array.refuse(fmt::format("allowed are {} to {} items", least, most));
  }
  return size;
}

bool is_eid(std::string_view text) noexcept {
  if (text.starts_with("0x")) text.remove_prefix(2);
  return text.size() == kEidDigits &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c); });
}

void check_address(const Node& node, const std::string& type) {
  const std::string& text = node.text(1, kLongestAddress);
  if (type == "EID") {
    if (is_eid(text) || ip_family(text) == AF_INET6) return;
    node.refuse("allowed is an EID: 32 hexadecimal digits, or written as an IPv6 address");
  }
  if (ip_family(text) != (type == "IPV4" ? AF_INET : AF_INET6)) {
    node.refuse("allowed is an address of its addr_type, " + type);
  }
}

/// "die/port"
bool is_port(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto digits = [](std::string_view part) {
    return !part.empty() &&
           std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); });
  };
  return slash != std::string::npos && digits(text.substr(0, slash)) &&
         digits(text.substr(slash + 1));
}

void check_rank_address(const Node& address) {
  const std::string& type = one_of(address.at("addr_type"), {"EID", "IPV4", "IPV6"});
  check_address(address.at("addr"), type);
  if (const std::optional<Node> backups = address.find("backup_addr")) {
    const std::size_t count = count_of(*backups, 0, kMostBackups);
    for (std::size_t i = 0; i < count; ++i) check_address((*backups)[i], type);
  }
  if (const std::optional<Node> plane = address.find("plane_id")) {
    static_cast<void>(plane->text(0, kLongestName));
  }
  const Node ports = address.at("ports");
  Distinct distinct;
  const std::size_t count = count_of(ports, 1, kMostPorts);
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_port(ports[i].text(1, kLongestPort))) ports[i].refuse("allowed is \"die/port\"");
    distinct.add(ports[i], ports[i].text(), "the ports of an address must be different");
  }
}

/// The id of its network of layer 0, if it is in one.
std::optional<std::string> check_levels(const Node& levels) {
  std::optional<std::string> server;
  std::uint32_t next = 0;
  const std::size_t count = count_of(levels, 0, kMostLevels);
  for (std::size_t i = 0; i < count; ++i) {
    const Node level = levels[i];
    const Node layer = level.at("net_layer");
    if (layer.number(0, kMostLevels - 1) < next) layer.refuse("layers must ascend");
    next = layer.number(0, kMostLevels - 1) + 1;
    const std::string& network = level.at("net_instance_id").text(1, kLongestName);
    if (next == 1) server = network;
    if (const std::optional<Node> type = level.find("net_type")) {
      one_of(*type, {"TOPO_FILE_DESC", "CLOS"});
    }
    if (const std::optional<Node> attribute = level.find("net_attr")) {
      static_cast<void>(attribute->text());
    }
    const Node addresses = level.at("rank_addr_list");
    const std::size_t several = count_of(addresses, 0, kMostAddresses);
    for (std::size_t k = 0; k < several; ++k) check_rank_address(addresses[k]);
  }
  return server;
}

std::uint16_t port_of(const Node& in, const char* key) {
  const std::optional<Node> port = in.find(key);
  return port ? static_cast<std::uint16_t>(port->number(1, kLastPort)) : std::uint16_t{0};
}

/// The ids that a server's topology knows its devices by.
struct LocalIds {
  std::map<std::uint32_t, std::string> paths;  // of the entries, by id
  std::optional<Node> replaced;

  void add(const Node& rank) {
    const Node id = rank.at("local_id");
    const std::uint32_t local = id.number(0, kSpare);
    if (local == kSpare) {
      if (replaced) id.refuse("a server has one spare device at most");
      replaced = rank.at("replaced_local_id");
      static_cast<void>(replaced->number(0, kSpare - 1));
    }
    paths.emplace(local, id.path());
  }

  void check() const {
    if (!replaced) return;
    const auto found = paths.find(replaced->number(0, kSpare - 1));
    if (found != paths.end()) {
      replaced->refuse(found->second + " is this device, so it was not replaced");
    }
  }
};

/// Where rank 0 says that it can be met.
void find_root(const Node& rank, RankTable& table) {
  table.root_port = port_of(rank, "host_port");
  const std::optional<Node> plane = rank.find("control_plane");
  if (!plane) return;
  if (plane->at("addr_type").text() != "EID") table.root_ip = plane->at("addr").text();
  if (const std::uint16_t port = port_of(*plane, "listen_port"); port != 0) table.root_port = port;
}

void check_control_plane(const Node& rank) {
  const std::optional<Node> plane = rank.find("control_plane");
  if (!plane) return;
  check_address(plane->at("addr"), one_of(plane->at("addr_type"), {"EID", "IPV4", "IPV6"}));
  static_cast<void>(port_of(*plane, "listen_port"));
}

}  // namespace

RankTable parse_2_0(const Node& root) {
  if (const std::optional<Node> detour = root.find("detour")) {
    one_of(*detour, {"true", "false", ""});
  }
  const Node list = root.at("rank_list");
  const Node count = root.at("rank_count");
  if (count.number(1, kMostRanks) != list.size()) {
    count.refuse(fmt::format("rank_list has {} ranks", list.size()));
  }
  const auto ranks = static_cast<std::uint32_t>(list.size());
  RankTable table;
  table.ranks.resize(ranks);
  Distinct rank_ids;
  Distinct devices;
  std::map<std::string, std::uint32_t> servers;  // by network of layer 0
  std::vector<LocalIds> local_ids;               // by server
  for (std::uint32_t i = 0; i < ranks; ++i) {
    const Node entry = list[i];
    const Node id = entry.at("rank_id");
    const std::uint32_t rank = id.number(0, ranks - 1);
    rank_ids.add(id, std::to_string(rank), "each rank must be there once");
    const std::uint32_t device = entry.at("device_id").number(0, kSpare);
    static_cast<void>(port_of(entry, "host_port"));
    check_control_plane(entry);
    // A rank that is in no such network is alone on its server.
    const std::string server =
        check_levels(entry.at("level_list")).value_or(fmt::format("rank {}", rank));
    const auto [found, fresh] =
        servers.emplace(server, static_cast<std::uint32_t>(table.servers.size()));
    if (fresh) {
      table.servers.push_back(server);
      local_ids.emplace_back();
    }
    local_ids[found->second].add(entry);
    const std::uint16_t given = port_of(entry, "device_port");
    const std::uint32_t port = given == 0 ? kDefaultPort : given;
    devices.add(
        entry.at("device_id"), fmt::format("{}:{}:{}", found->second, device, port),
        fmt::format("and the device_port {}: ranks on one device need a device_port each", port));
    table.ranks[rank] = {found->second, device};
    if (rank == 0) find_root(entry, table);
  }
  for (const LocalIds& each : local_ids) each.check();
  return table;
}

}  // namespace weft::cluster
