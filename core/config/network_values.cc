// SPDX-License-Identifier: Apache-2.0
// Interfaces, ports and the white list.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "config/values.hpp"

namespace weft::config {
namespace {

constexpr uint64_t kHighestPort = 65535;
constexpr const char* kHosts = "host_ip";
constexpr const char* kDevices = "device_ip";

control::Ports parse_port_range(std::string_view item) {
  const size_t dash = item.find('-');
  const auto port = [&](std::string_view text) {
    try {
      return static_cast<uint16_t>(whole_number(text, 1, kHighestPort));
    } catch (const BadValue& bad) {
      throw BadValue(fmt::format("in \"{}\", port \"{}\": {}", item, text, bad.what()));
    }
  };
  const uint16_t first = port(item.substr(0, dash));
  if (dash == std::string_view::npos) return {first, first};
  const uint16_t last = port(item.substr(dash + 1));
  if (last < first) throw BadValue(fmt::format("\"{}\" ends before it begins", item));
  return {first, last};
}

/// The canonical texts of a list of addresses.
std::set<std::string> addresses_of(const nlohmann::json& list, const std::string& where) {
  if (!list.is_array()) throw BadValue(where + " is no list of addresses");
  std::set<std::string> addresses;
  for (const nlohmann::json& each : list) {
    if (!each.is_string()) throw BadValue(where + " has an entry that is no string");
    try {
      const control::Endpoint parsed = control::parse_endpoint(each.get<std::string>(), 0, where);
      addresses.insert(control::canonical_ip(reinterpret_cast<const sockaddr*>(&parsed.address)));
    } catch (const Error& error) {
      throw BadValue(error.what());
    }
  }
  return addresses;
}

}  // namespace

control::Interfaces parse_interfaces(std::string_view text) {
  control::Interfaces wanted;
  wanted.excluded = text.starts_with('^');
  if (wanted.excluded) text.remove_prefix(1);
  wanted.exact = text.starts_with('=');
  if (wanted.exact) text.remove_prefix(1);
  for (const std::string_view name : comma_list(text)) wanted.names.emplace_back(name);
  return wanted;
}

std::vector<control::Ports> parse_ports(std::string_view text) {
  const std::string all = without_spaces(text);
  if (all.empty()) throw BadValue("it is empty");
  if (all == "auto") return {};
  std::vector<control::Ports> ports;
  for (const std::string_view item : comma_list(all)) {
    const control::Ports made = parse_port_range(item);
    const bool overlaps = std::any_of(ports.begin(), ports.end(), [&](const control::Ports& each) {
      return made.first <= each.last && each.first <= made.last;
    });
    if (overlaps) throw BadValue(fmt::format("\"{}\" overlaps a part before it", item));
    ports.push_back(made);
  }
  return ports;
}

control::WhiteList read_white_list(std::string_view file, std::vector<std::string>& warnings) {
  control::WhiteList list{true, std::string(file), {}};
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    if (error) throw BadValue(fmt::format("it cannot be read: {}", error.message()));
    warnings.push_back(fmt::format(
        "HCCL_WHITELIST_FILE={}: there is no such file; the white list is empty", file));
    return list;
  }
  // Opening a pipe or a device could block.
  if (!std::filesystem::is_regular_file(file, error)) throw BadValue("it is not a regular file");
  std::ifstream stream(list.source);
  if (!stream) throw BadValue("it cannot be read");
  nlohmann::json content;
  try {
    content = nlohmann::json::parse(stream);
  } catch (const nlohmann::json::exception& problem) {
    throw BadValue(fmt::format("it is no JSON: {}", problem.what()));
  }
  if (!content.is_object()) throw BadValue("it is no JSON object with \"host_ip\"");
  for (const auto& [key, value] : content.items()) {
    if (key != kHosts && key != kDevices) {
      warnings.push_back(
          fmt::format("HCCL_WHITELIST_FILE={}: \"{}\" is ignored; known are \"{}\" and \"{}\"",
                      file, key, kHosts, kDevices));
      continue;
    }
    std::set<std::string> addresses = addresses_of(value, fmt::format("\"{}\"", key));
    if (key == kHosts) list.addresses = std::move(addresses);
  }
  return list;
}

}  // namespace weft::config
