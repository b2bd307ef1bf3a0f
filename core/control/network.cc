// SPDX-License-Identifier: Apache-2.0
#include "control/network.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <tuple>

#include "base/error.hpp"
#include "base/shortage.hpp"

namespace weft::control {
namespace {

/// The first of the names that match, none if the interface is not wanted.
std::optional<std::size_t> match(const Interfaces& wanted, const std::string& interface) {
  if (wanted.names.empty()) return 0;
  const auto found = std::ranges::find_if(wanted.names, [&](const std::string& name) {
    return wanted.exact ? interface == name : interface.starts_with(name);
  });
  const bool matches = found != wanted.names.end();
  if (wanted.excluded) return matches ? std::nullopt : std::optional<std::size_t>(0);
  if (!matches) return {};
  return static_cast<std::size_t>(found - wanted.names.begin());
}

int kind_of(const std::string& interface) {
  if (interface == "lo") return 2;
  return interface.starts_with("docker") ? 1 : 0;
}

std::string show_wish(const Network& wanted) {
  std::string text;
  if (!wanted.interfaces.names.empty()) {
    text = std::string("HCCL_SOCKET_IFNAME=") + (wanted.interfaces.excluded ? "^" : "") +
           (wanted.interfaces.exact ? "=" : "");
    for (const std::string& name : wanted.interfaces.names)
      text += (&name == &wanted.interfaces.names.front() ? "" : ",") + name;
  }
  if (wanted.family != AF_UNSPEC) {
    text += std::string(text.empty() ? "" : " with ") +
            "HCCL_SOCKET_FAMILY=" + (wanted.family == AF_INET ? "AF_INET" : "AF_INET6");
  }
  return text;
}

std::string show_ports(const std::vector<Ports>& ports) {
  std::string text;
  for (const Ports& range : ports) {
    text += (text.empty() ? "" : ",") + std::to_string(range.first);
    if (range.last != range.first) text += "-" + std::to_string(range.last);
  }
  return text;
}

Socket listen_in(const Network& wanted, Endpoint& endpoint) {
  std::uint32_t taken = 0;
  std::uint32_t denied = 0;
  for (const Ports& range : wanted.ports) {
    for (std::uint32_t port = range.first; port <= range.last; ++port) {
      set_port(endpoint, static_cast<std::uint16_t>(port));
      Socket socket = try_listen(endpoint, wanted.detection);
      if (socket) return socket;
      if (errno != EADDRINUSE && errno != EACCES) refuse_to_listen(endpoint, errno, kOwnAddress);
      ++(errno == EACCES ? denied : taken);
    }
  }
  throw Error(
      HCCL_E_UNAVAIL,
      wanted.ports_source + "=" + show_ports(wanted.ports) + ": none of these ports of " +
          endpoint.ip + " is free for a root to wait for its ranks" +
          (denied == 0 ? "" : "; " + std::to_string(denied) + " of them this process may not use") +
          (taken == 0 ? "; give ports from 1024 on, or unset it"
                      : "; give more ports, wait for the end of other jobs, or unset it"));
}

}  // namespace

std::vector<HostAddress> host_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0)
    throw Error(HCCL_E_SYSCALL,
                "cannot list the network interfaces of this host: " + explain_errno(errno));
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  std::vector<HostAddress> all;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
    const int family = each->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    HostAddress address{each->ifa_name, canonical_ip(each->ifa_addr), family, false};
    if (family == AF_INET6) {
      const auto* v6 = reinterpret_cast<const sockaddr_in6*>(each->ifa_addr);
      address.link_local = IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr);
      if (address.link_local) address.ip += "%" + address.interface;
    }
    all.push_back(std::move(address));
  }
  return all;
}

std::string choose_address(const std::vector<HostAddress>& all, const Network& wanted) {
  using Order = std::tuple<std::size_t, int, bool, bool, std::string>;
  std::optional<Order> best;
  std::string chosen;
  std::string known;
  for (const HostAddress& each : all) {
    known += (known.empty() ? "" : ", ") + each.interface + " " + each.ip;
    const auto place = match(wanted.interfaces, each.interface);
    if (!place || (wanted.family != AF_UNSPEC && wanted.family != each.family)) continue;
    const Order order{*place, kind_of(each.interface), each.link_local, each.family == AF_INET6,
                      each.interface};
    if (best && *best <= order) continue;
    best = order;
    chosen = each.ip;
  }
  if (best) return chosen;
  const std::string wish = show_wish(wanted);
  throw Error(HCCL_E_NOT_FOUND,
              (wish.empty() ? "" : wish + ": ") +
                  "no network interface of this host that is up has such an address; there are " +
                  (known.empty() ? "none" : known));
}

void check_white_list(const WhiteList& list) {
  if (list.enforced && list.addresses.empty())
    throw Error(HCCL_E_PARA,
                "HCCL_WHITELIST_DISABLE=0 lets in the hosts of the white list only, and it is "
                "empty: no rank could join; list addresses under \"host_ip\" in the file that "
                "HCCL_WHITELIST_FILE names" +
                    (list.source.empty() ? "" : ", " + list.source) +
                    ", or unset HCCL_WHITELIST_DISABLE");
}

std::uint16_t port_at(std::span<const Ports> ranges, std::uint32_t index) {
  const auto size = [](const Ports& range) { return range.last - range.first + 1U; };
  std::uint32_t count = 0;
  for (const Ports& range : ranges) count += size(range);
  index %= count;
  for (; index >= size(ranges.front()); ranges = ranges.subspan(1)) index -= size(ranges.front());
  return static_cast<std::uint16_t>(ranges.front().first + index);
}

Socket listen_as(const Network& wanted, Endpoint& endpoint) {
  check_white_list(wanted.white_list);
  endpoint = wanted.ip.empty()
                 ? parse_endpoint(choose_address(host_addresses(), wanted), 0, "network interface")
                 : parse_own_address(wanted.ip);
  return wanted.ports.empty() ? listen_at(endpoint, wanted.detection) : listen_in(wanted, endpoint);
}

}  // namespace weft::control
