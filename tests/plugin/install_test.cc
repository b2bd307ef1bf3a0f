// SPDX-License-Identifier: Apache-2.0
#include "base/install.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "plugin/registry.hpp"
#include "support/set_variable.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

TEST(Install, IsAboveTheFolderOfTheProgramThatHoldsTheCore) {
  const SetVariable home("WEFT_HOME", std::nullopt);
  EXPECT_EQ(install_prefix(), fs::read_symlink("/proc/self/exe").parent_path().parent_path());
  EXPECT_EQ(plugin::default_folder(), install_prefix() / "lib64/weft/plugins");
}

TEST(Install, IsWhereWeftHomeSays) {
  const SetVariable home("WEFT_HOME", std::string(WEFT_TEST_PLUGINS) + "/../plugins/.");
  EXPECT_EQ(install_prefix(), fs::canonical(WEFT_TEST_PLUGINS));
}

TEST(Install, DoesNotTakeAWeftHomeThatIsNoFolder) {
  for (const std::string& wrong :
       {std::string("/no/such/folder"), std::string(WEFT_TEST_PLUGINS) + "/toy.so"}) {
    const SetVariable home("WEFT_HOME", wrong);
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
