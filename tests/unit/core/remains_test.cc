// SPDX-License-Identifier: Apache-2.0
#include "comm/remains.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "support.hpp"

namespace weft::comm {
namespace {

std::vector<void*> freed;

/// A transport that notes what is freed.
weft_transport counting() {
  weft_transport t = exec::loopback();
  t.release = [](void*, void* board) { freed.push_back(board); };
  t.endpoint_close = [](void*) {};
  freed.clear();
  return t;
}

TEST(Remains, AreKeptUntilAllPeersHavePassedTheLastCall) {
  const weft_transport transport = counting();
  constexpr uint64_t kLast = 9;
  const auto mine = std::make_unique<exec::Board>();
  const auto peer = std::make_unique<exec::Board>();
  peer->identity.magic = exec::Board::kMagic;
  peer->progress.done = kLast;
  peer->progress.passed = kLast - 1;
  bury({&transport, nullptr, mine.get(), exec::Board::kMagic, {peer.get()}, kLast});
  clear_remains();
  EXPECT_TRUE(freed.empty()) << "the peer may still look whether this rank has ended";
  peer->progress.passed = kLast;
  clear_remains();
  EXPECT_EQ(freed, std::vector<void*>{mine.get()});
}

TEST(Remains, AreFreedOnceTheirPeersHaveLeft) {
  const weft_transport transport = counting();
  const auto mine = std::make_unique<exec::Board>();
  const auto peer = std::make_unique<exec::Board>();
  peer->identity.magic = exec::Board::kMagic;
  bury({&transport, nullptr, mine.get(), exec::Board::kMagic, {peer.get()}, 1});
  clear_remains();
  EXPECT_TRUE(freed.empty());
  peer->identity.magic = exec::closed(exec::Board::kMagic);
  clear_remains();
  EXPECT_EQ(freed, std::vector<void*>{mine.get()});
}

}  // namespace
}  // namespace weft::comm
