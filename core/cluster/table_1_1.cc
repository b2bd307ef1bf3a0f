// SPDX-License-Identifier: Apache-2.0
// Rank tables of version 1.1, of clusters of hosts: nodes with ranks, where each rank has an
// address of its own. As in the other 1.x every scalar is a string.
#include <fmt/format.h>

#include <optional>
#include <string>

#include "cluster/formats.hpp"

namespace weft::cluster {

RankTable parse_1_1(const Node& root) {
  const Node nodes = root.at("node_list");
  if (nodes.size() == 0) nodes.refuse("there must be a node");
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node ranks = nodes[i].at("ranks");
    if (ranks.size() == 0) ranks.refuse("a node must have a rank");
    count += static_cast<std::uint32_t>(ranks.size());
  }
  RankTable table;
  table.ranks.resize(count);
  OneFamily family(nodes.size() > 1);
  Distinct addresses;
  Distinct devices;
  Distinct rank_ids;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const Node address = nodes[i].at("node_addr");
    addresses.add(address, canonical(address.text(1)), "nodes must have different ones");
    table.servers.push_back(address.text());
    const Node ranks = nodes[i].at("ranks");
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      const Node id = ranks[k].at("rank_id");
      const std::uint32_t rank = id.decimal(0, count - 1);
      rank_ids.add(id, std::to_string(rank), "each rank must be there once");
      const Node device = ranks[k].at("device_id");
      table.ranks[rank] = {i, device.decimal(0, kMostDevices - 1)};
      std::uint32_t port = 0;
      if (const std::optional<Node> given = ranks[k].find("port")) {
        port = given->decimal(1, kLastPort);
      }
      devices.add(device, fmt::format("{}:{}:{}", i, table.ranks[rank].device, port),
                  "ranks of a node on one device need a port each");
      std::string ip = nodes.size() > 1 && ip_family(address.text()) != 0 ? address.text() : "";
      if (const std::optional<Node> given = ranks[k].find("rank_ip")) {
        ip = check_ip(*given);
        family.add(*given, ip);
      }
      if (rank != 0) continue;
      table.root_ip = ip;
      table.root_port = static_cast<std::uint16_t>(port);
    }
  }
  return table;
}

}  // namespace weft::cluster
