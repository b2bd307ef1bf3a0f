// SPDX-License-Identifier: Apache-2.0
// Ranks that do not fit together or do not come, and strangers at the root's door.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cases.hpp"
#include "policy_file.hpp"
#include "weft/comm.h"

namespace weft::test {
namespace {

GroupOptions impatient(const PolicyFile& policy) {
  GroupOptions options;
  options.environment = policy.environment();
  return options;
}
const char* const kOneSecond = "[control]\nconnect_timeout = \"1s\"\n";

TEST(RootInfo, GarbageIsRefusedAtOnce) {
  run_alone([](Rank&) {
    HcclRootInfo good;
    ok(HcclGetRootInfo(&good));
    HcclRootInfo root{};
    HcclComm comm = nullptr;
    refused(HcclCommInitRootInfo(2, &root, 1, &comm), HCCL_E_PARA, {"root info"});
    for (size_t i = 0; i < sizeof root.internal; ++i) {
      root.internal[i] = static_cast<char>(i * 37 + 11);
    }
    refused(HcclCommInitRootInfo(2, &root, 1, &comm), HCCL_E_PARA, {"root info"});
    for (const size_t flipped : {size_t{0}, size_t{9}, size_t{20}, size_t{40}, size_t{60}}) {
      root = good;
      root.internal[flipped] = static_cast<char>(root.internal[flipped] ^ 4);
      refused(HcclCommInitRootInfo(2, &root, 1, &comm), HCCL_E_PARA, {"root info"});
    }
    check(comm == nullptr, "a failed call gave a communicator");
    ok(HcclCommInitRootInfo(1, &good, 0, &comm));
    ok(HcclCommDestroy(comm));
  });
}

TEST(RootInfo, MakesOneCommunicatorOnly) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    const HcclRootInfo root = rank.share_root();
    HcclComm comm = nullptr;
    ok(HcclCommInitRootInfo(2, &root, rank.rank(), &comm));
    rank.sync();
    HcclComm again = nullptr;
    ok(aclrtSetDevice(7));  // the name of the first is taken on its own device
    refused(HcclCommInitRootInfo(2, &root, rank.rank(), &again), HCCL_E_UNAVAIL,
            {"root info", "HcclCommInitRootInfo"});
    ok(aclrtResetDevice(7));
    ok(aclrtSetDevice(rank.device()));
    rank.sync();
    expect_working(comm, 2);
    ok(HcclCommDestroy(comm));
  });
}

TEST(RootInfo, OfAProcessThatIsGoneIsAConnectError) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    const HcclRootInfo root = rank.share_root();
    if (rank.rank() == 0) rank.die();
    HcclComm comm = nullptr;
    // It may still be dying at the first tries: then the connection is made, or reset.
    HcclResult code = HCCL_SUCCESS;
    eventually(
        [&] {
          code = HcclCommInitRootInfo(2, &root, 1, &comm);
          return std::string(weft_last_error()).find("nobody listens") != std::string::npos;
        },
        "the port is closed");
    refused(code, HCCL_E_TCP_CONNECT, {"HcclCommInitRootInfo", "nobody listens"});
  });
}

TEST(Rendezvous, TwoProcessesThatClaimOneRankBothLearnIt) {
  run_ranks(2, Layout::kProcesses, [](Rank& rank) {
    const HcclRootInfo root = rank.share_root();
    HcclComm comm = nullptr;
    refused(HcclCommInitRootInfo(2, &root, 1, &comm), HCCL_E_PARA, {"claim", "rank 1"});
    rank.sync();
  });
}

TEST(Rendezvous, TwoThreadsThatClaimOneRankBothLearnIt) {
  run_ranks(2, Layout::kThreads, [](Rank& rank) {
    const HcclRootInfo root = rank.share_root();
    HcclComm comm = nullptr;
    refused(HcclCommInitRootInfo(2, &root, 1, &comm), HCCL_E_PARA, {"claim", "rank 1"});
    rank.sync();
  });
}

TEST(Rendezvous, DifferentNumbersOfRanksAreNamed) {
  run_ranks(3, Layout::kProcesses, [](Rank& rank) {
    const HcclRootInfo root = rank.share_root();
    HcclComm comm = nullptr;
    const uint32_t ranks = rank.rank() == 2 ? 4 : 3;
    refused(HcclCommInitRootInfo(ranks, &root, rank.rank(), &comm), HCCL_E_PARA,
            {"nRanks", "3", "4"});
    rank.sync();  // the root serves as long as its process lives
  });
}

TEST(Rendezvous, ARankThatNeverComesIsNamedAfterTheTimeout) {
  const PolicyFile policy(policy_text({}, kOneSecond));
  const auto body = [](Rank& rank) {
    const HcclRootInfo root = rank.share_root();
    HcclComm comm = nullptr;
    if (rank.rank() != 2) {
      refused(HcclCommInitRootInfo(4, &root, rank.rank(), &comm), HCCL_E_TIMEOUT,
              {"rank 2", "did not join", "HCCL_CONNECT_TIMEOUT"});
      check(comm == nullptr, "a failed call gave a communicator");
    }
    rank.sync();
    HcclComm next = rank.join();  // nothing of the failure is left
    expect_working(next, 4);
    ok(HcclCommDestroy(next));
  };
  run_ranks(4, Layout::kProcesses, body, impatient(policy));
  run_ranks(4, Layout::kThreads, body, impatient(policy));
}

TEST(Rendezvous, ARankThatDiesBeforeAllHaveJoinedEndsIt) {
  const Folder folder;
  const std::string log = folder.path() / "log";
  write_file(log, "");
  GroupOptions options;
  options.environment["WEFT_LOG"] = "debug";
  const auto body = [&](Rank& rank) {
    if (rank.rank() == 0) dup2(open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC), STDERR_FILENO);
    const HcclRootInfo root = rank.share_root();
    HcclComm comm = nullptr;
    if (rank.rank() == 1) {
      // Waits on another thread for the others, of whom one never comes, and dies meanwhile.
      std::thread([&] {
        aclrtSetDevice(1);
        HcclCommInitRootInfo(3, &root, 1, &comm);
      }).detach();
      eventually([&] { return contains(read_file(log), "rank 1 "); }, "rank 1 has joined");
      rank.die();
    }
    if (rank.rank() == 0) {
      refused(HcclCommInitRootInfo(3, &root, 0, &comm), HCCL_E_REMOTE,
              {"rank 1", "ended before all ranks had joined"});
      rank.event(0);
    }
    rank.await(0, 1);
  };
  run_ranks(3, Layout::kProcesses, body, options);
}

TEST(Rendezvous, RanksWithDifferentPoliciesLearnIt) {
  const PolicyFile one(policy_text());
  const PolicyFile other(policy_text({{"broadcast", "ring.broadcast"}}));
  run_ranks(3, Layout::kProcesses, [&](Rank& rank) {
    setenv("WEFT_POLICY", rank.rank() == 1 ? other.path().c_str() : one.path().c_str(), 1);
    const HcclRootInfo root = rank.share_root();
    HcclComm comm = nullptr;
    refused(HcclCommInitRootInfo(3, &root, rank.rank(), &comm), HCCL_E_PARA,
            {"policy", "rank 1", "ranks 0, 2"});
  });
}

/// The port of the only TCP socket of this process that listens.
uint16_t listening_port() {
  for (int fd = 0; fd < 1024; ++fd) {
    int listens = 0;
    socklen_t size = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || listens == 0) continue;
    sockaddr_in address{};
    size = sizeof address;
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    if (address.sin_family == AF_INET) return ntohs(address.sin_port);
  }
  throw Failure("no socket listens", std::source_location::current());
}

/// Connections to the root that are no ranks.
class Strangers {
 public:
  explicit Strangers(uint16_t port) : port_(port) {}
  ~Strangers() {
    for (const int fd : fds_) close(fd);
  }

  void connect_and_send(const std::string& bytes) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(fd >= 0, "no socket");
    fds_.push_back(fd);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "no connection");
    // The root may have closed it already; that is fine.
    if (!bytes.empty() && send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) return;
  }

 private:
  uint16_t port_;
  std::vector<int> fds_;
};

std::string noise_bytes(size_t size, uint32_t seed) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) {
    seed = seed * 1664525 + 1013904223;
    byte = static_cast<char>(seed >> 24);
  }
  return bytes;
}

TEST(Strangers, AtTheRootsPortDisturbNobody) {
  GroupOptions options;
  options.environment["HCCL_IF_IP"] = "127.0.0.1";
  const auto body = [](Rank& rank) {
    const HcclRootInfo root = rank.share_root();
    std::unique_ptr<Strangers> strangers;
    if (rank.rank() == 0) {
      strangers = std::make_unique<Strangers>(listening_port());
      for (uint32_t i = 0; i < 20; ++i) {
        strangers->connect_and_send("");
        strangers->connect_and_send(noise_bytes(1 + i * 97, i));
        strangers->connect_and_send(std::string(64, i % 2 == 0 ? '\0' : '\xFF'));
      }
      strangers->connect_and_send(noise_bytes(1 << 18, 99));
      strangers->connect_and_send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    }
    rank.sync();
    HcclComm comm = nullptr;
    ok(HcclCommInitRootInfo(3, &root, rank.rank(), &comm));
    if (rank.rank() == 0) {
      for (uint32_t i = 0; i < 20; ++i) strangers->connect_and_send(noise_bytes(50, 1000 + i));
    }
    for (int i = 0; i < 20; ++i) expect_working(comm, 3);
    strangers.reset();
    expect_working(comm, 3);
    ok(HcclCommDestroy(comm));
  };
  run_ranks(3, Layout::kProcesses, body, options);
}

}  // namespace
}  // namespace weft::test
