// SPDX-License-Identifier: Apache-2.0
// Rank tables of ranks on this host, and ports for them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy_file.hpp"

namespace weft::test {

/// A port of this host that is taken as long as this lives.
class TakenPort {
 public:
  /// One that the system chooses, or this one; then number() is 0 if somebody else has it.
  explicit TakenPort(uint16_t wanted = 0);
  ~TakenPort();
  TakenPort(const TakenPort&) = delete;
  TakenPort& operator=(const TakenPort&) = delete;

  uint16_t number() const { return number_; }

 private:
  const int fd_;
  uint16_t number_ = 0;
};

/// A port that nobody has at the moment, and that the system gives to nobody who does not ask for
/// it. Another one each time.
uint16_t free_port();

/// Rank i is on device (i + shift) % count. By default that is the device of the tests' ranks.
struct DevicesOfRanks {
  uint32_t count = 8;
  uint32_t shift = 0;
};

/// Version 1.0, with so many ranks on each server; rank 0 listens on `port`.
std::string table_text(const std::vector<uint32_t>& servers, uint16_t port,
                       const DevicesOfRanks& devices = {});

/// A rank table in a folder of its own.
class RankTable {
 public:
  explicit RankTable(const std::vector<uint32_t>& servers, const DevicesOfRanks& devices = {})
      : port_(free_port()) {
    write(table_text(servers, port_, devices));
  }
  explicit RankTable(std::string_view text) { write(std::string(text)); }

  void write(const std::string& text) const { write_file(path(), text); }
  std::string path() const { return folder_.path() / "table.json"; }
  uint16_t port() const { return port_; }

 private:
  Folder folder_;
  uint16_t port_ = 0;
};

}  // namespace weft::test
