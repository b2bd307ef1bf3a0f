// SPDX-License-Identifier: Apache-2.0
#include "rank_table.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>

namespace weft::test {

TakenPort::TakenPort(uint16_t wanted) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(wanted);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(fd_, generic, size) != 0 || ::listen(fd_, 1) != 0) {
    EXPECT_NE(wanted, 0);
    return;
  }
  EXPECT_EQ(::getsockname(fd_, generic, &size), 0);
  number_ = ntohs(address.sin_port);
}

TakenPort::~TakenPort() { ::close(fd_); }

uint16_t free_port() {
  constexpr uint32_t kFirst = 12000;  // below those that the system chooses
  constexpr uint32_t kPorts = 20000;
  static std::atomic<uint32_t> tries{0};
  for (;;) {
    // Tests run side by side, and must not take the same one.
    const uint32_t number = static_cast<uint32_t>(getpid()) * 7919 + ++tries * 31;
    const TakenPort port(static_cast<uint16_t>(kFirst + number % kPorts));
    if (port.number() != 0) return port.number();
  }
}

std::string table_text(const std::vector<uint32_t>& servers, uint16_t port,
                       const DevicesOfRanks& devices) {
  std::string text;
  uint32_t rank = 0;
  for (size_t server = 0; server < servers.size(); ++server) {
    text += (server == 0 ? "" : ", ") + std::string(R"({"server_id": "s)") +
            std::to_string(server) + R"(", "host_ip": "127.0.0.1", "device": [)";
    for (uint32_t i = 0; i < servers[server]; ++i, ++rank) {
      text += (i == 0 ? "" : ", ") + std::string(R"({"device_id": ")") +
              std::to_string((rank + devices.shift) % devices.count) + R"(", "rank_id": ")" +
              std::to_string(rank) + R"(", "device_port": ")" + std::to_string(rank + 1) + '"' +
              (rank == 0 ? R"(, "host_port": ")" + std::to_string(port) + "\"}" : "}");
    }
    text += "]}";
  }
  return R"({"status": "completed", "version": "1.0", "server_list": [)" + text + "]}";
}

}  // namespace weft::test
