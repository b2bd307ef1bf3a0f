// SPDX-License-Identifier: Apache-2.0
// For tests of what happens when threads have run out, which limits of the superuser never do.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>

namespace weft::test {

/// While it lives, no thread of default attributes can be started in this process: there is no room
/// for its stack.
class NoThreads {
 public:
  NoThreads() {
    EXPECT_EQ(pthread_getattr_default_np(&before_), 0);
    pthread_attr_t huge;
    EXPECT_EQ(pthread_attr_init(&huge), 0);
    EXPECT_EQ(pthread_attr_setstacksize(&huge, kMoreThanThereIs), 0);
    EXPECT_EQ(pthread_setattr_default_np(&huge), 0);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    EXPECT_EQ(pthread_setattr_default_np(&before_), 0);
    pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  static constexpr size_t kMoreThanThereIs = size_t{1} << 48;
  pthread_attr_t before_;
};

}  // namespace weft::test
