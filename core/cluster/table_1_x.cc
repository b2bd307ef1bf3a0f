// SPDX-License-Identifier: Apache-2.0
// Rank tables of version 1.0, and 1.2, which adds superpods. Every scalar is a string.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "cluster/formats.hpp"

namespace weft::cluster {
namespace {

constexpr std::size_t kLongestServerId = 64;

class Reader {
 public:
  Reader(const Node& root, bool with_superpods);
  RankTable take() { return std::move(table_); }

 private:
  void check_server_count(const Node& root) const;
  void read_server(const Node& server, std::uint32_t index);
  void read_device(const Node& device, std::uint32_t server);
  void read_device_ip(const Node& device, const RankTable::Place& place);
  void check_numbers(const Node& device, std::uint32_t id);
  void check_superpods(const Node& root);

  RankTable table_;
  const bool with_superpods_;
  std::uint32_t servers_ = 0;
  std::uint32_t ranks_ = 0;
  Distinct server_ids_;
  Distinct rank_ids_;
  std::map<std::string, std::pair<RankTable::Place, std::string>> device_ips_;  // and the path
  OneFamily family_;
  // Of the server that is being read.
  std::string host_ip_;
  Distinct devices_;
  Distinct host_ports_;
};

Reader::Reader(const Node& root, bool with_superpods)
    : with_superpods_(with_superpods),
      servers_(static_cast<std::uint32_t>(root.at("server_list").size())),
      family_(servers_ > 1) {
  const Node servers = root.at("server_list");
  if (servers_ == 0) servers.refuse("there must be a server");
  check_server_count(root);
  for (std::uint32_t i = 0; i < servers_; ++i) {
    const Node devices = servers[i].at("device");
    if (devices.size() == 0) devices.refuse("a server must have a device");
    ranks_ += static_cast<std::uint32_t>(devices.size());
  }
  table_.ranks.resize(ranks_);
  for (std::uint32_t i = 0; i < servers_; ++i) read_server(servers[i], i);
  if (with_superpods_) check_superpods(root);
}

void Reader::check_server_count(const Node& root) const {
  const std::optional<Node> count = root.find("server_count");
  if (!count || count->decimal(0, UINT32_MAX) == servers_) return;
  count->refuse(fmt::format("server_list has {} servers", servers_));
}

void Reader::read_server(const Node& server, std::uint32_t index) {
  const Node id = server.at("server_id");
  server_ids_.add(id, id.text(1, kLongestServerId), "servers must have different ids");
  table_.servers.push_back(id.text());
  host_ip_.clear();
  if (const std::optional<Node> ip = server.find("host_ip")) {
    host_ip_ = check_ip(*ip);
    family_.add(*ip, host_ip_);
  }
  devices_ = {};
  host_ports_ = {};
  const Node devices = server.at("device");
  for (std::size_t i = 0; i < devices.size(); ++i) read_device(devices[i], index);
}

void Reader::read_device(const Node& device, std::uint32_t server) {
  const Node rank_id = device.at("rank_id");
  const std::uint32_t rank = rank_id.decimal(0, ranks_ - 1);
  rank_ids_.add(rank_id, std::to_string(rank), "each rank must be there once");
  const RankTable::Place place{server, device.at("device_id").decimal(0, kMostDevices - 1)};
  table_.ranks[rank] = place;
  read_device_ip(device, place);
  check_numbers(device, place.device);
  if (rank != 0) return;
  table_.root_ip = host_ip_;
  // Many tables have the server's address as its id.
  if (host_ip_.empty() && servers_ > 1 && ip_family(table_.servers[server]) != 0) {
    table_.root_ip = table_.servers[server];
  }
  if (const std::optional<Node> port = device.find("host_port")) {
    table_.root_port = static_cast<std::uint16_t>(port->decimal(1, kLastPort));
  }
}

/// One address or several with commas between them; they belong to one device.
void Reader::read_device_ip(const Node& device, const RankTable::Place& place) {
  std::optional<Node> node = device.find("device_ip");
  if (!node && servers_ > 1 && host_ip_.empty()) node = device.at("device_ip");
  if (!node) return;
  std::istringstream addresses(node->text() + ",");
  for (std::string ip; std::getline(addresses, ip, ',');) {
    if (ip_family(ip) == 0) {
      node->refuse("allowed is an IPv4 or IPv6 address, or several with commas between them");
    }
    family_.add(*node, ip);
    const auto [seen, fresh] = device_ips_.emplace(canonical(ip), std::pair(place, node->path()));
    const RankTable::Place& other = seen->second.first;
    if (!fresh && (other.server != place.server || other.device != place.device)) {
      node->refuse(
          fmt::format("{} has it too: devices must have different addresses", seen->second.second));
    }
  }
}

void Reader::check_numbers(const Node& device, std::uint32_t id) {
  std::uint32_t port = kDefaultPort;
  if (const std::optional<Node> given = device.find("device_port")) {
    port = given->decimal(1, kLastPort);
  }
  devices_.add(
      device.at("device_id"), fmt::format("{}:{}", id, port),
      fmt::format("and the device_port {}: ranks on one device need a device_port each", port));
  if (const std::optional<Node> given = device.find("host_port")) {
    host_ports_.add(*given, std::to_string(given->decimal(1, kLastPort)),
                    "ranks of a server must have different ones");
  }
  if (const std::optional<Node> given = device.find("backup_device_ip")) {
    family_.add(*given, check_ip(*given));
  }
  if (const std::optional<Node> given = device.find("backup_device_port")) {
    static_cast<void>(given->decimal(1, kLastPort));
  }
  if (!with_superpods_) return;
  if (const std::optional<Node> given = device.find("super_device_id")) {
    static_cast<void>(given->decimal(0, UINT32_MAX));
  }
}

/// Every server is in one superpod, and super_device_ids are different in it. Without the list, or
/// where a device has no such id, the servers are plain ones.
void Reader::check_superpods(const Node& root) {
  const std::optional<Node> pods = root.find("super_pod_list");
  if (!pods) return;
  std::map<std::string, std::size_t> pod_of;  // by server id
  Distinct pod_ids;
  Distinct members;
  for (std::size_t i = 0; i < pods->size(); ++i) {
    const Node id = (*pods)[i].at("super_pod_id");
    pod_ids.add(id, id.text(), "superpods must have different ids");
    const Node servers = (*pods)[i].at("server_list");
    for (std::size_t k = 0; k < servers.size(); ++k) {
      const Node server = servers[k].at("server_id");
      members.add(server, server.text(), "a server is in one superpod");
      pod_of[server.text()] = i;
      const auto& known = table_.servers;
      if (std::find(known.begin(), known.end(), server.text()) == known.end()) {
        server.refuse("server_list has no such server");
      }
    }
  }
  bool everywhere = true;
  std::map<std::size_t, Distinct> ids;  // by superpod
  const Node servers = root.at("server_list");
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const Node server = servers[i].at("server_id");
    const auto pod = pod_of.find(server.text());
    if (pod == pod_of.end()) server.refuse("no superpod of super_pod_list has this server");
    const Node devices = servers[i].at("device");
    for (std::size_t k = 0; k < devices.size() && everywhere; ++k) {
      everywhere = devices[k].find("super_device_id").has_value();
    }
  }
  for (std::size_t i = 0; i < servers.size() && everywhere; ++i) {
    Distinct& known = ids[pod_of[servers[i].at("server_id").text()]];
    const Node devices = servers[i].at("device");
    for (std::size_t k = 0; k < devices.size(); ++k) {
      const Node id = devices[k].at("super_device_id");
      known.add(id, std::to_string(id.decimal(0, UINT32_MAX)),
                "devices of a superpod must have different ones");
    }
  }
}

}  // namespace

RankTable parse_1_x(const Node& root, bool with_superpods) {
  return Reader(root, with_superpods).take();
}

}  // namespace weft::cluster
