// SPDX-License-Identifier: Apache-2.0
// Lowering onto a table that plays the stream: what is queued is carried out in a random order of
// the ranks, on ordinary memory, with flags of one bit that tell when a record is lost.
#include "exec/lowering.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "exec/task_queue.hpp"
#include "hccl/hccl_types.h"
#include "schedule/builder.hpp"
#include "schedule/partners.hpp"
#include "weft/sdk.hpp"

namespace weft::exec {
namespace {

/// Step of a stream: false if it must wait.
using Action = std::function<bool()>;

struct World;

/// One rank: its endpoint and its only stream.
struct Player {
  World* world = nullptr;
  uint32_t rank = 0;
  std::deque<Action> queue;
  std::vector<uint8_t> flags;  // by peer and index
};

struct World {
  explicit World(uint32_t n) : players(n) {
    for (uint32_t r = 0; r < n; ++r) {
      players[r].world = this;
      players[r].rank = r;
      players[r].flags.assign(size_t{n} * kPairFlags, 0);
    }
  }

  /// Until all streams are empty; false if they wait for each other.
  bool run(uint32_t seed) {
    std::minstd_rand random(seed);
    std::vector<Player*> order;
    for (Player& player : players) order.push_back(&player);
    for (;;) {
      std::shuffle(order.begin(), order.end(), random);
      bool moved = false;
      bool left = false;
      for (Player* player : order) {
        for (uint32_t k = random() % 4 + 1; k > 0 && !player->queue.empty(); --k) {
          if (!player->queue.front()()) break;
          player->queue.pop_front();
          ++done;
          moved = true;
        }
        left |= !player->queue.empty();
      }
      if (!left || !moved) return !left;
    }
  }

  std::vector<Player> players;
  uint32_t lost = 0;  // records of a flag that was set
  uint64_t done = 0;
  uint64_t reduces = 0;
};

Player& player(void* raw) { return *static_cast<Player*>(raw); }

int32_t queue_copy(void* raw, void*, void* dst, const void* src, uint64_t bytes, uint32_t) {
  EXPECT_GT(bytes, 0u);
  EXPECT_NE(dst, src);
  player(raw).queue.push_back([=] {
    std::memcpy(dst, src, bytes);
    return true;
  });
  return WEFT_OK;
}

int32_t queue_reduce(void* raw, void*, void* dst, const void* src, uint64_t count, int32_t,
                     int32_t) {
  EXPECT_GT(count, 0u);
  World* world = player(raw).world;
  player(raw).queue.push_back([=] {
    ++world->reduces;
    auto* to = static_cast<int32_t*>(dst);
    const auto* from = static_cast<const int32_t*>(src);
    for (uint64_t i = 0; i < count; ++i) to[i] += from[i];
    return true;
  });
  return WEFT_OK;
}

int32_t queue_record(void* raw, void*, uint32_t peer, uint32_t index) {
  Player& self = player(raw);
  uint8_t& flag = self.world->players[peer].flags[size_t{self.rank} * kPairFlags + index];
  self.queue.push_back([&flag, &self] {
    self.world->lost += flag;
    flag = 1;
    return true;
  });
  return WEFT_OK;
}

int32_t queue_wait(void* raw, void*, uint32_t peer, uint32_t index, uint32_t) {
  uint8_t& flag = player(raw).flags[size_t{peer} * kPairFlags + index];
  player(raw).queue.push_back([&flag] { return std::exchange(flag, uint8_t{0}) == 1; });
  return WEFT_OK;
}

weft_tasks table() {
  weft_tasks made{};
  made.head = WEFT_HEAD(weft_tasks);
  made.copy = queue_copy;
  made.reduce = queue_reduce;
  made.record = queue_record;
  made.wait = queue_wait;
  made.mark = [](void*, void*, uint32_t) -> int32_t { return WEFT_OK; };
  return made;
}

// Everybody's input goes to everybody's Scratch.
void by_scratch(const weft::Problem& p, weft::Schedule& s) {
  const uint32_t me = p.rank();
  for (const uint32_t q : p.peers()) s.copy(p.scratch(me).at(q), p.in().all());
  s.signal(p.peers());
  s.wait(p.peers());
  std::vector<weft::Chunk> terms;
  for (uint32_t q = 0; q < p.ranks(); ++q) terms.push_back(q == me ? p.in().all() : p.scratch(q));
  s.reduce(p.out().all(), terms);
}
WEFT_ALGORITHM(by_scratch, .name = "by_scratch", .summary = "", .op = WEFT_OP_ALL_REDUCE);

// More signals between two ranks than there are flags, then parts are summed for everybody.
void after_tokens(const weft::Problem& p, weft::Schedule& s) {
  const uint32_t me = p.rank();
  for (uint32_t i = 0; i < 3 * kRing; ++i) {
    s.signal(p.ring(1));
    s.wait(p.ring(-1));
  }
  s.signal(p.peers());
  s.wait(p.peers());
  s.reduce(p.everyone(p.out()[me]), p.everyone(p.in()[me]));
  s.signal(p.peers());
  s.wait(p.peers());
}
WEFT_ALGORITHM(after_tokens, .name = "after_tokens", .summary = "", .op = WEFT_OP_ALL_REDUCE);

// Only the root has partners.
void pulled(const weft::Problem& p, weft::Schedule& s) {
  if (p.rank() == p.root()) {
    s.signal(p.peers());
    s.wait(p.peers());
  } else {
    s.wait(p.root());
    s.copy(p.out().all(), p.in().all().at(p.root()));
    s.signal(p.root());
  }
}
WEFT_ALGORITHM(pulled, .name = "pulled", .summary = "", .op = WEFT_OP_BROADCAST);

constexpr uint64_t kBuffer = uint64_t{32} << 10;

/// All ranks of a communicator whose memory and streams are played.
class Played {
 public:
  explicit Played(uint32_t n) : n_(n), world_(n), table_(table()) {
    const TaskLayout layout = task_layout(n, kBuffer);
    std::vector<std::byte*> shared;
    for (uint32_t r = 0; r < n; ++r) {
      memory_.push_back(std::make_unique<std::byte[]>(layout.bytes));
      shared.push_back(memory_.back().get());
    }
    setup_.ranks = n;
    watch_ = std::make_unique<Watch>(setup_);
    for (uint32_t r = 0; r < n; ++r) {
      tools_.push_back(
          std::make_unique<TaskTools>(TaskTools{table_, &world_.players[r], *watch_, 0}));
      lowerings_.push_back(std::make_unique<Lowering>(r, layout, shared));
    }
  }

  /// Queues a call of all ranks on int32.
  void call(const weft_algorithm& algorithm, uint64_t count, uint32_t root = 0) {
    const TaskLayout layout = task_layout(n_, kBuffer);
    Data& data = calls_.emplace_back();
    data.op = algorithm.op;
    data.root = root;
    for (uint32_t r = 0; r < n_; ++r) {
      data.in.emplace_back(count);
      data.out.emplace_back(count, -1);
      for (uint64_t i = 0; i < count; ++i) {
        data.in[r][i] = static_cast<int32_t>(calls_.size() * 1000 + r * 100 + i % 89);
      }
      const schedule::Shape shape{algorithm.op, n_, r, root};
      const auto emit = [&](const schedule::Shape& of) {
        return schedule::emit(algorithm, algorithm.name, of, {});
      };
      schedule::Geometry geometry;
      geometry.count = count;
      geometry.element_bytes = sizeof(int32_t);
      geometry.staged = true;
      geometry.scratch_bytes = layout.scratch_bytes;
      geometry.in_bytes = geometry.out_bytes = layout.area_bytes;
      geometry.temp_bytes = layout.temp_bytes;
      ExecPlan plan;
      plan.plan = schedule::bind(emit(shape), geometry);
      plan.partners = schedule::partners(shape, emit);
      plan.key.op = static_cast<uint8_t>(algorithm.op);
      plan.key.root = root;
      pieces_ = plan.plan.pieces;
      TaskCall given;
      given.plan = &plan;
      given.in = data.in[r].data();
      given.out = data.out[r].data();
      TaskQueue queue(*tools_[r], nullptr);
      lowerings_[r]->run(given, queue);
    }
  }

  void expect_right() const {
    for (const Data& data : calls_) {
      for (uint32_t r = 0; r < n_; ++r) {
        const bool broadcast = data.op == WEFT_OP_BROADCAST;
        if (broadcast && r == data.root) continue;
        for (size_t i = 0; i < data.out[r].size(); ++i) {
          int32_t wanted = broadcast ? data.in[data.root][i] : 0;
          for (uint32_t q = 0; !broadcast && q < n_; ++q) wanted += data.in[q][i];
          ASSERT_EQ(data.out[r][i], wanted) << "rank " << r << " element " << i;
        }
      }
    }
  }

  World& world() { return world_; }
  [[nodiscard]] uint32_t pieces() const { return pieces_; }

 private:
  struct Data {
    uint32_t op = 0;
    uint32_t root = 0;
    std::vector<std::vector<int32_t>> in;
    std::vector<std::vector<int32_t>> out;
  };
  const uint32_t n_;
  World world_;
  const weft_tasks table_;
  Setup setup_;
  std::unique_ptr<Watch> watch_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::vector<std::unique_ptr<TaskTools>> tools_;
  std::vector<std::unique_ptr<Lowering>> lowerings_;
  std::deque<Data> calls_;
  uint32_t pieces_ = 0;
};

TEST(Lowering, CallsOfAllKindsAreRightInAnyTimingAndNoRecordIsLost) {
  for (const uint32_t n : {2u, 3u, 5u, 8u}) {
    for (uint32_t seed = 1; seed <= 20; ++seed) {
      Played played(n);
      played.call(weft_algorithm_by_scratch, 1000);
      played.call(weft_algorithm_after_tokens, 777);
      played.call(weft_algorithm_pulled, 1000, n - 1);
      played.call(weft_algorithm_by_scratch, 1);
      played.call(weft_algorithm_pulled, 5);
      played.call(weft_algorithm_pulled, 3000, n - 1);
      played.call(weft_algorithm_after_tokens, 5000);
      played.call(weft_algorithm_by_scratch, 20011);
      EXPECT_GT(played.pieces(), 2u);
      ASSERT_TRUE(played.world().run(seed)) << "n=" << n << ": ranks wait for each other";
      EXPECT_EQ(played.world().lost, 0u);
      played.expect_right();
    }
  }
}

TEST(Lowering, AReductionCombinesTwoAtATime) {
  Played played(4);
  played.call(weft_algorithm_by_scratch, 10);
  ASSERT_TRUE(played.world().run(1));
  EXPECT_EQ(played.world().reduces, 4u * 3);
}

TEST(TaskLayout, TakesTwiceTheBufferAndTheSlotsOfMessages) {
  for (const uint64_t buffer : {uint64_t{1} << 20, uint64_t{200} << 20}) {
    const TaskLayout layout = task_layout(8, buffer);
    EXPECT_EQ(layout.mail, 2 * buffer);
    EXPECT_EQ(layout.bytes, layout.mail + 8 * kMailSlots * layout.slot_bytes);
    EXPECT_LE(layout.slot_bytes, uint64_t{256} << 10);
    EXPECT_EQ(layout.slot(7, 1) + layout.slot_bytes, layout.bytes);
  }
}

}  // namespace
}  // namespace weft::exec
