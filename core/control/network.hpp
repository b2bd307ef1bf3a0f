// SPDX-License-Identifier: Apache-2.0
// Where a root listens and whom it lets in: the choice among this host's addresses and ports.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "control/socket.hpp"

namespace weft::control {

/// Network interfaces by name: those that begin with one of `names`, or are one of them if `exact`;
/// all others if `excluded`.
struct Interfaces {
  std::vector<std::string> names;  // none: any interface
  bool exact = false;
  bool excluded = false;
};

/// Both ends are inside.
struct Ports {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
};

/// Hosts whose ranks may join.
struct WhiteList {
  bool enforced = false;
  std::string source;               // the file, for messages
  std::set<std::string> addresses;  // as canonical_ip() writes them

  bool allows(const std::string& ip) const { return !enforced || addresses.contains(ip); }
};

/// What the user wants of the control plane's network.
struct Network {
  std::string ip;  // wins over all that follows; empty: any address
  Interfaces interfaces;
  int family = AF_UNSPEC;    // unspecified: IPv4 is preferred
  std::vector<Ports> ports;  // none: the system chooses
  std::string ports_source;  // what gave the ports, for messages
  WhiteList white_list;
  FaultDetection detection;
};

/// One address of an interface of this host.
struct HostAddress {
  std::string interface;
  std::string ip;  // with "%interface" where it needs that
  int family = AF_INET;
  bool link_local = false;
};

/// Those of all interfaces that are up. Throws Error HCCL_E_SYSCALL.
std::vector<HostAddress> host_addresses();

/// The address that `wanted` asks for. Of several: the first pattern of the interfaces that
/// matches; ordinary interfaces before docker* before lo; IPv4 before IPv6 before link-local IPv6;
/// then by name. Throws Error: HCCL_E_NOT_FOUND (the interfaces or the family match nothing).
std::string choose_address(const std::vector<HostAddress>& all, const Network& wanted);

/// One of the ports, counted in their order: `index` modulo their number, which is not 0.
std::uint16_t port_at(std::span<const Ports> ranges, std::uint32_t index);

/// Throws Error HCCL_E_PARA if it would let in nobody.
void check_white_list(const WhiteList& list);

/// Listens as `wanted` says and sets `endpoint`. Ports are tried in their order, also when another
/// process takes one at the same moment. Throws Error: HCCL_E_PARA (the address cannot be used, the
/// white list would let in nobody), HCCL_E_NOT_FOUND (no such address), HCCL_E_UNAVAIL (all ports
/// are taken or forbidden), HCCL_E_NETWORK (cannot listen there), HCCL_E_SYSCALL.
Socket listen_as(const Network& wanted, Endpoint& endpoint);

}  // namespace weft::control
