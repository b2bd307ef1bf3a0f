// SPDX-License-Identifier: Apache-2.0
// Where a root listens, and whom it lets in.
#include "control/network.hpp"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "control/root_info.hpp"
#include "support.hpp"

namespace weft::control {
namespace {

const std::vector<HostAddress> kHost = {
    {"lo", "127.0.0.1", AF_INET, false},       {"lo", "::1", AF_INET6, false},
    {"docker0", "172.17.0.1", AF_INET, false}, {"eth1", "10.0.1.1", AF_INET, false},
    {"eth1", "10.0.1.2", AF_INET, false},      {"eth0", "fe80::1%eth0", AF_INET6, true},
    {"eth0", "fd00::1", AF_INET6, false},      {"ib0", "10.0.2.1", AF_INET, false},
};

struct Wish {
  std::vector<std::string> names;
  bool exact = false;
  bool excluded = false;
  int family = AF_UNSPEC;
};

std::string chosen(const Wish& wish, const std::vector<HostAddress>& host = kHost) {
  Network wanted;
  wanted.interfaces = {wish.names, wish.exact, wish.excluded};
  wanted.family = wish.family;
  return choose_address(host, wanted);
}

TEST(Interface, OrdinaryOnesComeBeforeDockerAndThatBeforeLoopback) {
  std::vector<HostAddress> host = kHost;
  EXPECT_EQ(chosen({}, host), "10.0.1.1");  // eth0 has no IPv4
  std::erase_if(host, [](const HostAddress& each) { return each.interface == "eth1"; });
  EXPECT_EQ(chosen({}, host), "10.0.2.1");
  std::erase_if(host, [](const HostAddress& each) { return each.interface == "ib0"; });
  EXPECT_EQ(chosen({}, host), "fd00::1");
  std::erase_if(host, [](const HostAddress& each) { return each.ip == "fd00::1"; });
  EXPECT_EQ(chosen({}, host), "fe80::1%eth0");
  std::erase_if(host, [](const HostAddress& each) { return each.interface == "eth0"; });
  EXPECT_EQ(chosen({}, host), "172.17.0.1");
  std::erase_if(host, [](const HostAddress& each) { return each.interface == "docker0"; });
  EXPECT_EQ(chosen({}, host), "127.0.0.1");
}

TEST(Interface, IsChosenByTheBeginningOfItsName) {
  EXPECT_EQ(chosen({{"ib"}}), "10.0.2.1");
  EXPECT_EQ(chosen({{"ib", "eth"}}), "10.0.2.1");
  EXPECT_EQ(chosen({{"nothing", "eth"}}), "10.0.1.1");
  EXPECT_EQ(chosen({{"lo"}}), "127.0.0.1");
  EXPECT_EQ(chosen({{"docker", "lo"}}), "172.17.0.1");
}

TEST(Interface, IsChosenByItsWholeName) {
  EXPECT_EQ(chosen({{"eth", "ib0"}, true}), "10.0.2.1");
  EXPECT_EQ(chosen({{"eth0"}, true}), "fd00::1");
}

TEST(Interface, CanBeExcluded) {
  EXPECT_EQ(chosen({{"eth"}, false, true}), "10.0.2.1");
  EXPECT_EQ(chosen({{"eth", "ib", "docker"}, false, true}), "127.0.0.1");
  EXPECT_EQ(chosen({{"eth1"}, true, true}), "10.0.2.1");
  EXPECT_EQ(chosen({{"eth"}, true, true}), "10.0.1.1");
}

TEST(Interface, MustHaveAnAddressOfTheFamily) {
  EXPECT_EQ(chosen({{}, false, false, AF_INET6}), "fd00::1");
  EXPECT_EQ(chosen({{"lo"}, false, false, AF_INET6}), "::1");
  EXPECT_EQ(chosen({{}, false, false, AF_INET}), "10.0.1.1");
}

TEST(Interface, ThatDoesNotExistIsAnErrorThatNamesThoseThatDo) {
  for (const Wish& wish :
       {Wish{{"wlan"}}, Wish{{"eth"}, true}, Wish{{"lo", "eth", "ib", "docker"}, false, true},
        Wish{{"ib"}, false, false, AF_INET6}}) {
    try {
      ADD_FAILURE() << chosen(wish);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), HCCL_E_NOT_FOUND);
      EXPECT_TRUE(contains(error.what(), "HCCL_SOCKET_IFNAME=")) << error.what();
      EXPECT_TRUE(contains(error.what(), wish.names.front())) << error.what();
      EXPECT_TRUE(contains(error.what(), "eth1 10.0.1.1")) << error.what();
    }
  }
}

TEST(Interface, LoopbackIsAmongThoseOfThisHost) {
  Network wanted;
  wanted.interfaces = {{"lo"}, true, false};
  EXPECT_EQ(choose_address(host_addresses(), wanted), "127.0.0.1");
}

HcclRootInfo root_with(const Network& network) {
  HcclRootInfo info;
  open_root(&info, 5, network);
  return info;
}

Network at(const std::string& ip) {
  Network network;
  network.ip = ip;
  return network;
}

TEST(Address, IsThatOfTheUser) {
  const HcclRootInfo info = root_with(at("127.0.0.2"));
  const RootInfo root = read_root_info(info);
  EXPECT_EQ(root.ip, "127.0.0.2");
  EXPECT_TRUE(root_identifier(info).starts_with("127.0.0.2_" + std::to_string(root.port) + "_5_"));
  EXPECT_LT(root_identifier(info).size(), 128u);
  for (const JoinResult& rank : join_all(info, 2)) EXPECT_TRUE(rank.session) << rank.text;
}

TEST(Address, OfOneHostIsNotToldWithAnInterface) {
  const HcclRootInfo info = root_with(at("127.0.0.2%lo"));
  EXPECT_EQ(read_root_info(info).ip, "127.0.0.2");
  EXPECT_TRUE(root_identifier(info).starts_with("127.0.0.2_"));
  EXPECT_EQ(parse_endpoint("fd00::2%lo", 1, "test").ip, "fd00::2");
  const Endpoint link_local = parse_endpoint("fe80::1%lo", 1, "test");
  EXPECT_EQ(link_local.ip, "fe80::1%lo");
  EXPECT_EQ(reinterpret_cast<const sockaddr_in6*>(&link_local.address)->sin6_scope_id,
            if_nametoindex("lo"));
}

TEST(Address, IsThatOfAnInterfaceIfTheUserGivesNone) {
  const HcclRootInfo info = root_with({});
  EXPECT_EQ(read_root_info(info).ip, choose_address(host_addresses(), {}));
  for (const JoinResult& rank : join_all(info, 2)) EXPECT_TRUE(rank.session) << rank.text;
}

TEST(Address, ThatIsInvalidIsAParameterErrorNamingTheVariable) {
  for (const char* ip : {"localhost", "1.2.3", "::1%nowhere", "0.0.0.0", "::"}) {
    try {
      root_with(at(ip));
      FAIL() << "accepted '" << ip << "'";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), HCCL_E_PARA);
      EXPECT_TRUE(contains(error.what(), "HCCL_IF_IP")) << error.what();
    }
  }
}

TEST(Address, MayBeVersionSix) {
  HcclRootInfo info;
  try {
    info = root_with(at("::1"));
  } catch (const Error& error) {
    // A host without version six says so; it is a valid address all the same.
    EXPECT_NE(error.code(), HCCL_E_PARA) << error.what();
    return;
  }
  EXPECT_TRUE(root_identifier(info).starts_with("::1_"));
  for (const JoinResult& rank : join_all(info, 2)) EXPECT_TRUE(rank.session) << rank.text;
}

TEST(Address, OfAnotherHostIsANetworkError) {
  try {
    root_with(at("192.0.2.1"));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), HCCL_E_NETWORK) << error.what();
  }
}

/// Ports that were free a moment ago, on an address that nothing else is likely to use.
Network with_ports(std::size_t count, const std::string& ip) {
  Network network = at(ip);
  network.ports_source = "HCCL_HOST_SOCKET_PORT_RANGE";
  std::vector<Socket> held;
  while (held.size() < count) {
    Endpoint endpoint = parse_endpoint(ip, 0, "test");
    held.push_back(listen_at(endpoint));
    network.ports.push_back({endpoint.port, endpoint.port});
  }
  return network;
}

TEST(Ports, AreTakenInTurnAndTheirEndIsAnError) {
  const Network network = with_ports(2, "127.0.0.3");
  const HcclRootInfo first = root_with(network);
  const HcclRootInfo second = root_with(network);
  EXPECT_EQ(read_root_info(first).port, network.ports[0].first);
  EXPECT_EQ(read_root_info(second).port, network.ports[1].first);
  try {
    root_with(network);
    FAIL() << "a third port of two";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), HCCL_E_UNAVAIL);
    const std::string range =
        "HCCL_HOST_SOCKET_PORT_RANGE=" + std::to_string(network.ports[0].first) + "," +
        std::to_string(network.ports[1].first);
    EXPECT_TRUE(contains(error.what(), range)) << error.what();
  }
  // The port of a root whose ranks have all joined is free, while they live.
  const std::vector<JoinResult> ranks = join_all(first, 2);
  for (const JoinResult& rank : ranks) ASSERT_TRUE(rank.session) << rank.text;
  EXPECT_EQ(read_root_info(root_with(network)).port, network.ports[0].first);
  on_threads(2, [&](std::uint32_t rank) { ranks[rank].session->barrier(kDeadline); });
  // Who comes too late, or to another's root, learns it.
  EXPECT_NE(try_join(first, hello_of(2, 0)).code, HCCL_SUCCESS);
}

TEST(Ports, OfARangeAreSharedByThoseThatComeAtOnce) {
  constexpr std::uint32_t kAtOnce = 8;
  const Network network = with_ports(kAtOnce, "127.0.0.4");
  std::vector<HcclRootInfo> infos(kAtOnce);
  on_threads(kAtOnce, [&](std::uint32_t i) { infos[i] = root_with(network); });
  std::set<std::uint16_t> ports;
  for (const HcclRootInfo& info : infos) ports.insert(read_root_info(info).port);
  EXPECT_EQ(ports.size(), kAtOnce);
}

TEST(Ports, OfOneRangeAreTriedOneByOne) {
  Network network = with_ports(1, "127.0.0.5");
  const std::uint16_t first = std::min<std::uint16_t>(network.ports[0].first, 65000);
  network.ports = {{first, static_cast<std::uint16_t>(first + 200)}};
  const std::uint16_t a = read_root_info(root_with(network)).port;
  const std::uint16_t b = read_root_info(root_with(network)).port;
  EXPECT_LT(a, b);
  EXPECT_GE(a, first);
}

TEST(Ports, AreCountedOverTheirRanges) {
  const std::vector<Ports> ports = {{65534, 65535}, {7, 7}, {100, 102}};
  const std::vector<std::uint16_t> wanted = {65534, 65535, 7, 100, 101, 102, 65534, 65535};
  for (std::uint32_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(port_at(ports, i), wanted[i]) << i;
  const std::vector<Ports> all = {{1, 65535}};
  EXPECT_EQ(port_at(all, 1023), 1024);
}

/// While it lives, this thread lacks the privilege for ports that need one.
class Unprivileged {
 public:
  Unprivileged() {
    EXPECT_EQ(syscall(SYS_capget, &header_, kept_), 0);
    __user_cap_data_struct less[2] = {kept_[0], kept_[1]};
    less[0].effective &= ~(1U << CAP_NET_BIND_SERVICE);
    EXPECT_EQ(syscall(SYS_capset, &header_, less), 0);
  }
  ~Unprivileged() { EXPECT_EQ(syscall(SYS_capset, &header_, kept_), 0); }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct kept_[2] = {};
};

template <typename Action>
std::string refusal_of(const Action& action, HcclResult code) {
  try {
    action();
    ADD_FAILURE() << "was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  return {};
}

TEST(Ports, ThatNeedPrivilegesAreNotCalledTaken) {
  const Unprivileged thread;
  Endpoint first = parse_endpoint("127.0.0.6", 1, "test");
  if (try_listen(first, {})) GTEST_SKIP() << "this system lets anybody have any port";
  const std::string known = refusal_of([&] { (void)listen_if_free(first); }, HCCL_E_NETWORK);
  EXPECT_TRUE(contains(known, "Permission denied; give rank 0 a port from 1024 on")) << known;
  Network network = with_ports(1, "127.0.0.6");
  const Ports unused = network.ports[0];
  network.ports = {{1, 2}, unused};
  EXPECT_EQ(read_root_info(root_with(network)).port, unused.first);  // and is taken from now on
  const std::string some = refusal_of([&] { root_with(network); }, HCCL_E_UNAVAIL);
  EXPECT_TRUE(contains(some, "2 of them this process may not use; give more ports, wait")) << some;
  network.ports = {{1, 2}};
  const std::string all = refusal_of([&] { root_with(network); }, HCCL_E_UNAVAIL);
  EXPECT_TRUE(contains(all, "2 of them this process may not use; give ports from 1024")) << all;
}

TEST(WhiteListed, HostsJoinAndOthersAreRefusedOnAllRanks) {
  Network network = at("127.0.0.1");
  network.white_list = {true, "list.json", {"127.0.0.1", "10.0.0.1"}};
  for (const JoinResult& rank : join_all(root_with(network), 3)) {
    EXPECT_TRUE(rank.session) << rank.text;
  }
  network.white_list.addresses = {"10.0.0.1"};
  for (const JoinResult& rank : join_all(root_with(network), 3)) {
    EXPECT_EQ(rank.code, HCCL_E_TCP_CONNECT);
    EXPECT_TRUE(contains(rank.text, "connects from 127.0.0.1")) << rank.text;
    EXPECT_TRUE(contains(rank.text, "list.json")) << rank.text;
  }
}

TEST(WhiteListed, IsNobodyByAnEmptyList) {
  Network network = at("127.0.0.1");
  network.white_list = {true, "list.json", {}};
  try {
    root_with(network);
    FAIL() << "a root that nobody can join";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), HCCL_E_PARA);
    EXPECT_TRUE(contains(error.what(), "HCCL_WHITELIST_FILE")) << error.what();
  }
}

int option(const Socket& socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(socket.fd(), level, name, &value, &size), 0);
  return value;
}

void expect_detection(const FaultDetection& detection, int user_timeout, int idle) {
  Endpoint endpoint = parse_endpoint("127.0.0.1", 0, "test");
  const Socket listener = listen_at(endpoint, detection);
  const Socket out = connect_to(endpoint, std::chrono::steady_clock::now() + kDeadline, detection);
  pollfd waiting{listener.fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&waiting, 1, 30'000), 1);
  const Socket in = Socket::accept(listener.fd());
  EXPECT_EQ(in.peer_ip(), "127.0.0.1");
  for (const Socket* socket : {&out, &in}) {
    EXPECT_EQ(option(*socket, IPPROTO_TCP, TCP_NODELAY), 1);
    EXPECT_EQ(option(*socket, IPPROTO_TCP, TCP_USER_TIMEOUT), user_timeout);
    EXPECT_EQ(option(*socket, SOL_SOCKET, SO_KEEPALIVE), idle > 0 ? 1 : 0);
    if (idle > 0) {
      EXPECT_EQ(option(*socket, IPPROTO_TCP, TCP_KEEPIDLE), idle);
    }
  }
}

TEST(FaultDetection, IsSetOnBothEndsOfAConnection) {
  expect_detection({}, 20'000, 4);
  expect_detection({std::chrono::seconds(100), true}, 100'000, 20);
  expect_detection({std::chrono::seconds(100), false}, 100'000, 0);
  expect_detection({std::chrono::seconds(0), true}, 0, 0);
}

}  // namespace
}  // namespace weft::control
