// SPDX-License-Identifier: Apache-2.0
#include "run/rank_table.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "command.hpp"
#include "options.hpp"

namespace weft::tools {
namespace {

constexpr uint32_t kDefaultDevices = 8;
constexpr uint32_t kMostDevices = 1024;  // that the runtime can have
constexpr const char* kVisible = "ASCEND_RT_VISIBLE_DEVICES";
constexpr size_t kLongestServerId = 64;

// Ports that nobody uses at the moment, all different.
std::vector<uint16_t> free_ports(uint32_t count) {
  std::vector<Fd> held;  // until all are known
  std::vector<uint16_t> ports;
  for (uint32_t i = 0; i < count; ++i) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    held.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (bind(held.back().get(), generic, size) != 0 ||
        getsockname(held.back().get(), generic, &size) != 0) {
      throw Failure(fmt::format("cannot find a free port: {}", std::strerror(errno)));
    }
    ports.push_back(ntohs(address.sin_port));
  }
  return ports;
}

std::string server_id() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  return std::string(name.data()).substr(0, kLongestServerId);
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Ids separated by commas, ascending, as the runtime wants them.
std::vector<uint32_t> parse_visible(const std::string& list, uint32_t on_host) {
  std::vector<uint32_t> ids;
  std::istringstream words(list + ",");
  try {
    for (std::string word; std::getline(words, word, ',');) {
      const uint32_t low = ids.empty() ? 0 : ids.back() + 1;
      ids.push_back(static_cast<uint32_t>(parse_count(word, low, on_host - 1)));
    }
  } catch (const UsageError&) {
    throw UsageError(
        fmt::format("{} is '{}': set it to ascending, comma-separated numbers below {}", kVisible,
                    list, on_host));
  }
  return ids;
}

}  // namespace

Devices find_devices(uint32_t ranks) {
  Devices devices;
  devices.on_host = std::min(std::max(kDefaultDevices, ranks), kMostDevices);
  try {
    const std::string given = variable("WEFT_DEVICES");
    if (!given.empty()) devices.on_host = uint32_t(parse_count(given, 1, kMostDevices));
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("WEFT_DEVICES: {}", error.what()));
  }
  const std::string list = variable(kVisible);
  if (!list.empty()) {
    devices.visible = parse_visible(list, devices.on_host);
    return devices;
  }
  for (uint32_t id = 0; id < devices.on_host; ++id) devices.visible.push_back(id);
  return devices;
}

std::string rank_table(uint32_t ranks, const Devices& devices) {
  const std::vector<uint16_t> ports = free_ports(ranks);
  const std::vector<uint32_t>& visible = devices.visible;
  auto entries = nlohmann::ordered_json::array();
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    nlohmann::ordered_json entry = {{"device_id", std::to_string(visible[rank % visible.size()])},
                                    {"rank_id", std::to_string(rank)},
                                    {"host_port", std::to_string(ports[rank])}};
    // Ranks that share a device need a port each.
    if (ranks > visible.size()) entry["device_port"] = std::to_string(ports[rank]);
    entries.push_back(entry);
  }
  const nlohmann::ordered_json server = {
      {"server_id", server_id()}, {"host_ip", "127.0.0.1"}, {"device", entries}};
  const nlohmann::ordered_json table = {{"status", "completed"},
                                        {"version", "1.0"},
                                        {"server_count", "1"},
                                        {"server_list", nlohmann::ordered_json::array({server})}};
  return table.dump(2) + "\n";
}

Fd rank_table_file(const std::string& table) {
  Fd file(memfd_create("rank_table.json", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file || write(file.get(), table.data(), table.size()) != ssize_t(table.size()) ||
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) !=
          0) {
    throw Failure(fmt::format("cannot make the rank table: {}", std::strerror(errno)));
  }
  return file;
}

}  // namespace weft::tools
