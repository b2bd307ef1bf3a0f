// SPDX-License-Identifier: Apache-2.0
#include "config/policy_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.hpp"
#include "config/policy.hpp"
#include "policy_text.hpp"
#include "support/set_variable.hpp"
#include "support/unprivileged.hpp"

namespace weft::config {
namespace {

namespace fs = std::filesystem;

class PolicyFile : public testing::Test {
 protected:
  PolicyFile() {
    std::string folder = testing::TempDir() + "weft-policy-XXXXXX";
    folder_ = mkdtemp(folder.data());
    fs::permissions(folder_, fs::perms::all);
  }
  ~PolicyFile() override { fs::remove_all(folder_); }

  fs::path write(const std::string& text) const {
    const fs::path file = folder_ / "policy.toml";
    std::ofstream(file, std::ios::binary) << text;
    return file;
  }

  static void expect_refusal(const fs::path& file, HcclResult code, const std::string& why) {
    try {
      (void)Policy::load(file);
      FAIL() << "accepted " << file;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      const std::string what = error.what();
      EXPECT_NE(what.find(file.string()), std::string::npos) << what;
      EXPECT_NE(what.find(why), std::string::npos) << what;
    }
  }

  fs::path folder_;
};

TEST_F(PolicyFile, ThatIsMissingIsNamed) {
  expect_refusal(folder_ / "none.toml", HCCL_E_OPEN_FILE_FAILURE, "No such file");
}

TEST_F(PolicyFile, MustBeARegularFile) {
  expect_refusal(folder_, HCCL_E_OPEN_FILE_FAILURE, "not a regular file");
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  expect_refusal(pipe, HCCL_E_OPEN_FILE_FAILURE, "not a regular file");
}

TEST_F(PolicyFile, ThatMayNotBeReadIsNamed) {
  const fs::path file = write(with(""));
  fs::permissions(file, fs::perms::none);
  const test::Unprivileged rights;
  expect_refusal(file, HCCL_E_OPEN_FILE_FAILURE, "Permission denied");
}

TEST_F(PolicyFile, MayHaveOneMebibyte) {
  std::string text = with("");
  text.resize(kMaxPolicyBytes, '\n');
  EXPECT_EQ(read_policy_file(write(text)).size(), kMaxPolicyBytes);
  EXPECT_NO_THROW((void)Policy::load(write(text)));
  expect_refusal(write(text + '\n'), HCCL_E_PARA, "larger than 1 MiB");
}

TEST_F(PolicyFile, ErrorsInItNameIt) {
  expect_refusal(write("schema = 1\nschemas = 1\n"), HCCL_E_PARA, "policy.toml:2:1: unknown key");
}

TEST_F(PolicyFile, RelativePluginPathsBeginAtItsFolder) {
  const Policy policy =
      Policy::load(write(with("[plugins]\npath = [\"../x/./mine.so\", \"/abs\", \"sub\"]\n")));
  const std::vector<fs::path> expected = {folder_.parent_path() / "x" / "mine.so", "/abs",
                                          folder_ / "sub"};
  EXPECT_EQ(policy.settings().plugin_paths, expected);
}

TEST_F(PolicyFile, IsChosenByTheEnvironmentElseOfThisInstallation) {
  const SetVariable given("WEFT_POLICY", "/some/policy.toml");
  EXPECT_EQ(Policy::default_file(), "/some/policy.toml");
  const SetVariable empty("WEFT_POLICY", "");
  const SetVariable home("WEFT_HOME", folder_);
  EXPECT_EQ(Policy::default_file(), fs::canonical(folder_) / "etc/weft/policy.toml");
}

}  // namespace
}  // namespace weft::config
