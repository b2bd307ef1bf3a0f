// SPDX-License-Identifier: Apache-2.0
// Tables with one mistake each.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "cluster/rank_table.hpp"

namespace weft::cluster {

inline constexpr HcclResult kPara = HCCL_E_PARA;
inline constexpr HcclResult kAbsent = HCCL_E_NOT_FOUND;

/// A good table in which `from`, at its first place, became `to`.
struct Mistake {
  const char* name;
  const char* from;
  const char* to;
  HcclResult code;
  const char* message;  // the beginning, after the name of the file
};

inline std::string edited(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "the good table has no " << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// Where table_of() puts tables.
inline std::string file_of_tables() {
  return testing::TempDir() + "weft-tables-" + std::to_string(getpid()) + ".json";
}

/// Of a text, read from a file. What is not completed is a time-out.
inline RankTable table_of(const std::string& text) {
  const std::string path = file_of_tables();
  struct Removed {
    const std::string& path;
    ~Removed() { std::filesystem::remove(path); }
  } const removed{path};
  std::ofstream(path) << text;
  Patience none;
  none.limit = std::chrono::milliseconds(0);
  return RankTableFile(path).table(none);
}

inline void expect_refused(const std::string& text, HcclResult code, const std::string& message) {
  try {
    (void)table_of(text);
    ADD_FAILURE() << "accepted: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    const std::string wanted = "rank table " + file_of_tables() + ": " + message;
    EXPECT_EQ(std::string(error.what()).substr(0, wanted.size()), wanted) << error.what();
  }
}

inline void expect_refused(const std::string& good, std::span<const Mistake> mistakes) {
  for (const Mistake& each : mistakes) {
    SCOPED_TRACE(each.name);
    expect_refused(edited(good, each.from, each.to), each.code, each.message);
  }
}

/// "0/3 1/0": server and device by rank.
inline std::string places(const RankTable& table) {
  std::string text;
  for (const RankTable::Place& each : table.ranks) {
    text +=
        (text.empty() ? "" : " ") + std::to_string(each.server) + "/" + std::to_string(each.device);
  }
  return text;
}

}  // namespace weft::cluster
