// SPDX-License-Identifier: Apache-2.0
// The parsers of the versions of rank tables, and what they share. All throw Error.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/document.hpp"
#include "cluster/rank_table.hpp"

namespace weft::cluster {

inline constexpr std::uint32_t kMostDevices = 1024;  // of a server
inline constexpr std::uint32_t kDefaultPort = 16666;
inline constexpr std::uint32_t kLastPort = 65535;

// The digest is the caller's to set.
[[nodiscard]] RankTable parse_1_x(const Node& root, bool with_superpods);  // 1.0 and 1.2
[[nodiscard]] RankTable parse_1_1(const Node& root);
[[nodiscard]] RankTable parse_template_two(const Node& root);
[[nodiscard]] RankTable parse_2_0(const Node& root);

/// AF_INET or AF_INET6 if the text is an address in digits, else 0.
[[nodiscard]] int ip_family(const std::string& text) noexcept;

/// The one text of an IPv6 address, which can be written in several ways; any other as it is.
[[nodiscard]] std::string canonical(const std::string& text);

/// Throws unless the node is an address.
const std::string& check_ip(const Node& node);

/// Makes sure that all addresses of a table with several servers are of one family.
class OneFamily {
 public:
  explicit OneFamily(bool required) : required_(required) {}
  void add(const Node& node, const std::string& ip);

 private:
  bool required_;
  int family_ = 0;
  std::string first_;  // its path
};

}  // namespace weft::cluster
