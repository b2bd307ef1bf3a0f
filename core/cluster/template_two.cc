// SPDX-License-Identifier: Apache-2.0
// Rank tables without a version: groups of pods, each with devices of one server. Ranks have no
// numbers there; they are counted by server, in the order of the bytes of the ids, then by device.
// Every scalar is a string.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "cluster/formats.hpp"

namespace weft::cluster {
namespace {

constexpr std::uint32_t kLastDevice = 7;
constexpr std::size_t kLongestGroupName = 127;
constexpr std::size_t kLongestId = 64;

void check_count(const Node& in, const char* key, std::size_t real, const char* what) {
  const Node count = in.at(key);
  if (count.decimal(0, UINT32_MAX) != real)
    count.refuse(fmt::format("there are {} {}", real, what));
}

class Groups {
 public:
  explicit Groups(const Node& root);
  [[nodiscard]] RankTable table() const;

 private:
  std::size_t read_pod(const Node& pod);

  Distinct pods_;
  Distinct places_;
  std::map<std::pair<std::string, std::uint32_t>, Node> devices_;  // by server and device
};

Groups::Groups(const Node& root) {
  const Node groups = root.at("group_list");
  const Node count = root.at("group_count");
  if (count.decimal(0, UINT32_MAX) == 0) count.refuse("there must be a group");
  check_count(root, "group_count", groups.size(), "groups in group_list");
  Distinct names;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (const std::optional<Node> name = groups[i].find("group_name")) {
      names.add(*name, name->text(0, kLongestGroupName), "groups must have different names");
    }
    const Node pods = groups[i].at("instance_list");
    check_count(groups[i], "instance_count", pods.size(), "pods in instance_list");
    std::size_t devices = 0;
    for (std::size_t k = 0; k < pods.size(); ++k) devices += read_pod(pods[k]);
    check_count(groups[i], "device_count", devices, "devices in the pods of instance_list");
  }
  if (devices_.empty()) groups.refuse("there must be a pod with a device");
}

/// How many devices it has.
std::size_t Groups::read_pod(const Node& pod) {
  const Node name = pod.at("pod_name");
  pods_.add(name, name.text(1), "pods must have different names");
  const std::string& server = pod.at("server_id").text(1, kLongestId);
  const Node devices = pod.at("devices");
  if (devices.size() == 0) devices.refuse("a pod must have a device");
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Node id = devices[i].at("device_id");
    const std::uint32_t device = id.decimal(0, kLastDevice);
    places_.add(id, fmt::format("{} {}", device, server), "on the same server");
    devices_.emplace(std::pair(server, device), devices[i]);
  }
  return devices.size();
}

RankTable Groups::table() const {
  RankTable table;
  for (const auto& [place, device] : devices_) {
    if (table.servers.empty() || table.servers.back() != place.first) {
      table.servers.push_back(place.first);
    }
    const auto server = static_cast<std::uint32_t>(table.servers.size() - 1);
    table.ranks.push_back({server, place.second});
  }
  const bool several = table.servers.size() > 1;
  OneFamily family(several);
  Distinct addresses;
  for (const auto& [place, device] : devices_) {
    std::optional<Node> ip = device.find("device_ip");
    if (!ip && several) ip = device.at("device_ip");
    if (!ip) continue;
    addresses.add(*ip, canonical(check_ip(*ip)), "devices must have different addresses");
    family.add(*ip, ip->text());
  }
  // Many tables have the server's address as its id.
  if (several && ip_family(table.servers[0]) != 0) table.root_ip = table.servers[0];
  return table;
}

}  // namespace

RankTable parse_template_two(const Node& root) { return Groups(root).table(); }

}  // namespace weft::cluster
