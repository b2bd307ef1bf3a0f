// SPDX-License-Identifier: Apache-2.0
// For tests of files that may not be read: the superuser may read everything, also in a container.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

namespace weft::test {

/// While it lives, the superuser has the rights of nobody; others keep their own.
class Unprivileged {
 public:
  Unprivileged() : self_(geteuid()) {
    if (self_ == 0) {
      EXPECT_EQ(seteuid(kNobody), 0);
    }
  }
  ~Unprivileged() {
    if (self_ == 0) {
      EXPECT_EQ(seteuid(self_), 0);
    }
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  uid_t self_;
};

}  // namespace weft::test
