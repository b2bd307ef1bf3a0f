// SPDX-License-Identifier: Apache-2.0
#include "config/environment.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/error.hpp"

namespace weft::config {
namespace {

class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

void expect_refused(const char* name, const char* value) {
  const Variable set(name, value);
  try {
    (void)read_environment();
    ADD_FAILURE() << name << "=" << value << " was accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), HCCL_E_PARA);
    EXPECT_NE(std::string(e.what()).find(name), std::string::npos) << e.what();
  }
}

TEST(Environment, IsEmptyWhenNothingIsSet) {
  const Environment env = read_environment();
  EXPECT_FALSE(env.connect_timeout || env.exec_timeout || env.buffer_mb || env.deterministic ||
               env.algo.given);
}

TEST(Environment, ReadsValuesInTheirDocumentedUnits) {
  const Variable a("HCCL_CONNECT_TIMEOUT", "120");
  const Variable b("HCCL_EXEC_TIMEOUT", "1.5");
  const Variable c("HCCL_BUFFSIZE", "7");
  const Variable d("HCCL_DETERMINISTIC", "TRUE");
  const Variable e("HCCL_IF_BASE_PORT", "65520");
  const Environment env = read_environment();
  EXPECT_EQ(env.connect_timeout, std::chrono::milliseconds(120000));
  EXPECT_EQ(env.exec_timeout, std::chrono::milliseconds(1500));
  EXPECT_EQ(env.buffer_mb, 7u);
  EXPECT_EQ(env.deterministic, true);
  EXPECT_EQ(env.base_port, 65520);
}

TEST(Environment, TakesEmptyStringLiterallyAsUnset) {
  const Variable set("HCCL_BUFFSIZE", "EmptyString");
  EXPECT_FALSE(read_environment().buffer_mb);
}

TEST(Environment, ReadsTheWishesForAlgorithms) {
  const Variable set("HCCL_ALGO", "level0:ring");
  const Environment env = read_environment();
  EXPECT_EQ(env.algo.level0("all_reduce").name, "ring");
  EXPECT_EQ(env.algo.level0("all_reduce").from, "HCCL_ALGO");
  for (const char* bad : {"ring", "level0:", "allredcue=level0:ring"}) {
    expect_refused("HCCL_ALGO", bad);
  }
  for (const char* unset : {"", "  ", "EmptyString"}) {
    const Variable nothing("HCCL_ALGO", unset);
    EXPECT_FALSE(read_environment().algo.given) << unset;
  }
}

TEST(Environment, KnowsOneCheck) {
  EXPECT_FALSE(read_environment().check_memory);
  for (const char* good : {"memory", "memory,memory"}) {
    const Variable set("WEFT_CHECK", good);
    EXPECT_TRUE(read_environment().check_memory) << good;
  }
  for (const char* none : {"", "EmptyString"}) {
    const Variable set("WEFT_CHECK", none);
    EXPECT_FALSE(read_environment().check_memory) << none;
  }
  for (const char* bad : {"1", "Memory", "memory,", ",memory", "memory, memory", "memory,leaks"}) {
    expect_refused("WEFT_CHECK", bad);
  }
}

TEST(Environment, RefusesWhatIsOutOfRangeOrNoNumber) {
  for (const char* bad : {"119", "7201", "-1", "", "abc", "120 ", "99999999999"}) {
    expect_refused("HCCL_CONNECT_TIMEOUT", bad);
  }
  for (const char* bad : {"-1", "", "1.", "1.234", "1.2.3", "x", "2147483648"}) {
    expect_refused("HCCL_EXEC_TIMEOUT", bad);
  }
  for (const char* bad : {"0", "", "1.5", "MB"}) expect_refused("HCCL_BUFFSIZE", bad);
  for (const char* bad : {"", "yes", "1"}) expect_refused("HCCL_DETERMINISTIC", bad);
  for (const char* bad : {"1023", "65521", "", "port"}) expect_refused("HCCL_IF_BASE_PORT", bad);
}

}  // namespace
}  // namespace weft::config
