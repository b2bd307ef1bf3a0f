// SPDX-License-Identifier: Apache-2.0
// What is told when threads or file descriptors have run out.
#include "base/shortage.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "base/error.hpp"
#include "base/thread.hpp"
#include "support/no_threads.hpp"

namespace weft {
namespace {

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(Shortage, OfDescriptorsNamesTheRemedy) {
  EXPECT_TRUE(has(explain_errno(EMFILE), "ulimit -n")) << explain_errno(EMFILE);
  EXPECT_TRUE(has(explain_errno(ENFILE), "fs.file-max")) << explain_errno(ENFILE);
  EXPECT_EQ(explain_errno(EACCES), "Permission denied");
}

TEST(Shortage, OfThreadsIsAnErrorThatNamesTheRemedy) {
  std::atomic<bool> ran{false};
  {
    const test::NoThreads none;
    try {
      start_thread([&] { ran = true; }).join();
      FAIL() << "it started";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), HCCL_E_SYSCALL);
      EXPECT_TRUE(has(error.what(), "cannot start a thread")) << error.what();
      EXPECT_TRUE(has(error.what(), "ulimit -u")) << error.what();
    }
    EXPECT_THROW(start_detached([] {}), Error);
  }
  EXPECT_FALSE(ran);
  start_thread([&] { ran = true; }).join();
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace weft
