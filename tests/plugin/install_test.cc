// SPDX-License-Identifier: Apache-2.0
#include "base/install.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "plugin/registry.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

class Install : public testing::Test {
 protected:
  ~Install() override { unsetenv("WEFT_HOME"); }
};

TEST_F(Install, IsAboveTheFolderOfTheProgramThatHoldsTheCore) {
  unsetenv("WEFT_HOME");
  EXPECT_EQ(install_prefix(), fs::read_symlink("/proc/self/exe").parent_path().parent_path());
  EXPECT_EQ(plugin::default_folder(), install_prefix() / "lib64/weft/plugins");
}

TEST_F(Install, IsWhereWeftHomeSays) {
  setenv("WEFT_HOME", (std::string(WEFT_TEST_PLUGINS) + "/../plugins/.").c_str(), 1);
  EXPECT_EQ(install_prefix(), fs::canonical(WEFT_TEST_PLUGINS));
}

TEST_F(Install, DoesNotTakeAWeftHomeThatIsNoFolder) {
  for (const std::string& wrong :
       {std::string("/no/such/folder"), std::string(WEFT_TEST_PLUGINS) + "/toy.so"}) {
    setenv("WEFT_HOME", wrong.c_str(), 1);
    try {
      (void)install_prefix();
      FAIL() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), HCCL_E_NOT_FOUND);
      EXPECT_NE(std::string(error.what()).find("WEFT_HOME=" + wrong), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace weft
