// SPDX-License-Identifier: Apache-2.0
// Rank tables as files: what cannot be read, and waiting for what is not completed.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "support.hpp"

namespace weft::cluster {
namespace {

using std::chrono::milliseconds;

const std::string kGood = R"({"status": "completed", "version": "1.0", "server_list": [
  {"server_id": "h", "device": [{"device_id": "0", "rank_id": "0"}]}]})";
const std::string kEarly = R"({"status": "initializing"})";

class TableFile : public testing::Test {
 protected:
  TableFile() {
    char name[] = "/tmp/weft-table-XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ / "table.json";
  }
  ~TableFile() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text) const { std::ofstream(path_) << text; }

  void expect_unreadable(const std::string& path, const std::string& why) const {
    try {
      (void)RankTableFile(path).table();
      ADD_FAILURE() << "was read: " << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), HCCL_E_INTERNAL) << error.what();
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  }

  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(TableFile, IsRead) {
  write(kGood);
  EXPECT_EQ(places(RankTableFile(path_).table()), "0/0");
}

TEST_F(TableFile, OfTheDocumentIsRight) {
  std::ifstream document(WEFT_RANK_TABLES_MD);
  std::string text((std::istreambuf_iterator<char>(document)), {});
  const std::size_t begin = text.find("```json\n") + 8;
  write(text.substr(begin, text.find("```", begin) - begin));
  const RankTable table = RankTableFile(path_).table();
  EXPECT_EQ(places(table), "0/0 0/1");
  EXPECT_EQ(table.root_port, 60100);
}

TEST_F(TableFile, ThatCannotBeReadIsAnInternalError) {
  expect_unreadable(path_, "No such file");
  expect_unreadable("", "No such file");
  expect_unreadable(folder_, "not a regular file");
  expect_unreadable(std::string(4096, 'x'), "the path has 4096 bytes, at most 4095");
  expect_unreadable(std::string(4095, 'x'), "File name too long");
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  expect_unreadable(path_, "not a regular file");
  std::filesystem::remove(path_);
  write("");
  expect_unreadable(path_, "it is empty");
}

TEST_F(TableFile, ThatIsNotJsonIsAnInternalErrorWithItsPlace) {
  for (const char* text : {"{", "status", "{\"a\": 1} x", "{\"a\": 1,}", "// no\n{}", "\"\xff\""}) {
    write(text);
    expect_unreadable(path_, path_ + " is not JSON: ");
    expect_unreadable(path_, "line 1, column ");
  }
}

TEST_F(TableFile, WithANumberThatIsTooLargeIsAnInternalError) {
  write("{\"a\": 1e999}");
  expect_unreadable(path_, path_ + " is not JSON: number overflow parsing '1e999'");
}

TEST_F(TableFile, WithAKeyTwiceIsAnInternalErrorThatSaysWhere) {
  write(R"({"a": {"b": 1}, "b": 1, "c": [0, {"a": 1}, [{}, {"a": 1, "b": 2, "a": 1}]]})");
  expect_unreadable(path_, path_ + ": c[2][1].a is there twice");
  write(R"({"a": {"b": {"c": [1]}, "b": 1}})");
  expect_unreadable(path_, path_ + ": a.b is there twice");
  write(R"({"status": "initializing", "x": 1, "status": "completed"})");
  expect_unreadable(path_, path_ + ": status is there twice");
}

TEST_F(TableFile, ThatIsNestedWithoutEndIsAnInternalError) {
  write("{\"a\": " + std::string(1000000, '['));
  expect_unreadable(path_, "nested deeper than 64 levels");
}

TEST_F(TableFile, IsLimitedBeforeVersionTwo) {
  write(kGood);
  std::filesystem::resize_file(path_, (std::uintmax_t{1} << 30) + 1);
  expect_unreadable(path_, "larger than 1 GiB");
  const std::string space(std::size_t{40} << 20, ' ');
  write(R"({"x": {"version": "2.0"}, "y": ["version", "2.0"], "version": "1.0"})" + space);
  expect_unreadable(path_, "larger than 40 MiB");
  write(R"({"rank_count": 1, "rank_list": [{"rank_id": 0, "local_id": 0, "device_id": 0,
            "level_list": []}], "version": "2.0"})" +
        space);
  EXPECT_EQ(places(RankTableFile(path_).table()), "0/0");
}

TEST_F(TableFile, IsWaitedFor) {
  write(kEarly);
  std::thread writer([&] {
    for (const std::string& text : {kEarly, std::string("{\"status\""), kEarly, kGood}) {
      std::this_thread::sleep_for(milliseconds(20));
      write(text);
    }
  });
  EXPECT_EQ(places(RankTableFile(path_).table({milliseconds(5), std::chrono::seconds(60), 100000})),
            "0/0");
  writer.join();
}

TEST_F(TableFile, IsWaitedForByVersionTwoToo) {
  write(R"({"version": "2.0", "status": "initializing"})");
  try {
    (void)RankTableFile(path_).table({milliseconds(1), milliseconds(5)});
    ADD_FAILURE() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), HCCL_E_TIMEOUT) << error.what();
  }
}

TEST_F(TableFile, ThatNeverIsCompletedIsATimeout) {
  write(kEarly);
  try {
    (void)RankTableFile(path_).table({milliseconds(1), milliseconds(5)});
    ADD_FAILURE() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), HCCL_E_TIMEOUT) << error.what();
    EXPECT_NE(std::string(error.what()).find("status is \"initializing\": it did not become"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(TableFile, ThatGoesAwayMeanwhileIsAnInternalError) {
  write(kEarly);
  RankTableFile file(path_);
  std::filesystem::remove(path_);
  try {
    (void)file.table({milliseconds(1), std::chrono::minutes(1)});
    ADD_FAILURE() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), HCCL_E_INTERNAL) << error.what();
  }
}

TEST_F(TableFile, OfAnUnknownVersionIsNotWaitedFor) {
  write(R"({"status": "initializing", "version": "9"})");
  try {
    (void)RankTableFile(path_).table();
    ADD_FAILURE() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), HCCL_E_NOT_SUPPORT) << error.what();
  }
}

}  // namespace
}  // namespace weft::cluster
