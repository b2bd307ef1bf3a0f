// SPDX-License-Identifier: Apache-2.0
// Operations whose blocks have lengths of their own, bound and run on ordinary memory: who gets
// what, what stays untouched, and what is said when ranks do not agree.
#include <gtest/gtest.h>

#include "support.hpp"

namespace {

void gather(const weft::Problem& p, weft::Schedule& s) {
  for (const uint32_t peer : p.peers()) s.signal(peer);
  s.copy(p.out()[p.rank()], p.in().all());
  for (const uint32_t peer : p.peers()) {
    s.wait(peer);
    s.copy(p.out()[peer], p.in().all().at(peer));
    s.signal(peer);
  }
  for (const uint32_t peer : p.peers()) s.wait(peer);
}

void push(const weft::Problem& p, weft::Schedule& s) {  // a gather that writes to peers
  for (int round = 0; round < 2; ++round) {
    for (const uint32_t peer : p.peers()) s.signal(peer);
    for (const uint32_t peer : p.peers()) s.wait(peer);
    if (round == 0) s.copy(p.everyone(p.out()[p.rank()]), p.in().all());
  }
}

void sum(const weft::Problem& p, weft::Schedule& s) {
  for (int round = 0; round < 2; ++round) {
    for (const uint32_t peer : p.peers()) s.signal(peer);
    for (const uint32_t peer : p.peers()) s.wait(peer);
    if (round == 0) s.reduce(p.out().all(), p.everyone(p.in()[p.rank()]));
  }
}

/// Every rank copies what a peer is to sum into the peer's Scratch.
void sum_through_scratch(const weft::Problem& p, weft::Schedule& s) {
  std::vector<weft::Chunk> all;
  for (uint32_t r = 0; r < p.ranks(); ++r) {
    all.push_back(r == p.rank() ? p.in()[r] : p.scratch(r));
  }
  for (const uint32_t peer : p.peers()) {
    s.copy(p.scratch(p.rank()).at(peer), p.in()[peer]);
    s.signal(peer);
  }
  for (const uint32_t peer : p.peers()) s.wait(peer);
  s.reduce(p.out().all(), all);
}

/// Partial sums travel: block b starts at rank b + 1 and ends at rank b.
void sum_in_a_ring(const weft::Problem& p, weft::Schedule& s) {
  const int r = static_cast<int>(p.rank());
  const int n = static_cast<int>(p.ranks());
  for (int k = 1; k < n; ++k) {
    const weft::Chunk own = p.in()[r - k];
    const weft::Chunk next = p.scratch(static_cast<uint32_t>(k)).at(p.ring(1));
    if (k == 1) {
      s.copy(next, own);
    } else {
      s.wait(p.ring(-1));
      s.reduce({next}, {p.scratch(static_cast<uint32_t>(k - 1)), own});
    }
    s.signal(p.ring(1));
  }
  s.wait(p.ring(-1));
  s.reduce({p.out().all()}, {p.scratch(static_cast<uint32_t>(n - 1)), p.in()[r]});
}

void exchange(const weft::Problem& p, weft::Schedule& s) {  // reads
  for (const uint32_t peer : p.peers()) s.signal(peer);
  s.copy(p.out()[p.rank()], p.in()[p.rank()]);
  for (const uint32_t peer : p.peers()) {
    s.wait(peer);
    s.copy(p.out()[peer], p.in()[p.rank()].at(peer));
    s.signal(peer);
  }
  for (const uint32_t peer : p.peers()) s.wait(peer);
}

void deliver(const weft::Problem& p, weft::Schedule& s) {  // writes
  for (const uint32_t peer : p.peers()) s.signal(peer);
  s.copy(p.out()[p.rank()], p.in()[p.rank()]);
  for (const uint32_t peer : p.peers()) {
    s.wait(peer);
    s.copy(p.out()[p.rank()].at(peer), p.in()[peer]);
    s.signal(peer);
  }
  for (const uint32_t peer : p.peers()) s.wait(peer);
}

}  // namespace

WEFT_ALGORITHM(gather, .name = "gather", .summary = "", .op = WEFT_OP_ALL_GATHER_V);
WEFT_ALGORITHM(push, .name = "push", .summary = "", .op = WEFT_OP_ALL_GATHER_V);
WEFT_ALGORITHM(sum, .name = "sum", .summary = "", .op = WEFT_OP_REDUCE_SCATTER_V);
WEFT_ALGORITHM(sum_through_scratch, .name = "scratch", .summary = "",
               .op = WEFT_OP_REDUCE_SCATTER_V);
WEFT_ALGORITHM(sum_in_a_ring, .name = "ring", .summary = "", .op = WEFT_OP_REDUCE_SCATTER_V);
WEFT_ALGORITHM(exchange, .name = "exchange", .summary = "", .op = WEFT_OP_ALL_TO_ALL_V);
WEFT_ALGORITHM(deliver, .name = "deliver", .summary = "", .op = WEFT_OP_ALL_TO_ALL_V);

namespace weft::exec {
namespace {

using Counts = std::vector<uint64_t>;

constexpr int32_t kUntouched = -1;
constexpr uint64_t kGap = 3;  // elements between two blocks, before the first and after the last

/// The blocks of one side, in elements.
struct Side {
  Counts counts;
  Counts places;
  uint64_t size = kGap;

  explicit Side(Counts of) : counts(std::move(of)), places(counts.size()) {
    for (size_t i = counts.size(); i-- > 0;) {  // the last block comes first
      places[i] = size;
      size += counts[i] + kGap;
    }
  }
};

/// The buffers of one rank in one call.
struct RankData {
  BlockTable table;
  std::vector<int32_t> in;
  std::vector<int32_t> out;
  std::vector<int32_t> expected;
};

/// What one call does on all ranks, worked out in the plain way.
class CallData {
 public:
  /// `counts`: n of them, or of all_to_all_v n * n, by sender.
  CallData(uint32_t op, uint32_t n, uint32_t number, const Counts& counts)
      : op_(op), n_(n), number_(number), counts_(counts), ranks_(n) {
    for (uint32_t r = 0; r < n; ++r) {
      const Side in(op == WEFT_OP_ALL_GATHER_V ? Counts(n, 0) : row(r));
      const Side out(op == WEFT_OP_REDUCE_SCATTER_V ? Counts(n, 0) : column(r));
      RankData& mine = ranks_[r];
      mine.in.resize(op == WEFT_OP_ALL_GATHER_V ? counts[r] : in.size);
      for (uint64_t i = 0; i < mine.in.size(); ++i) mine.in[i] = value(r, number, i);
      mine.out.assign(op == WEFT_OP_REDUCE_SCATTER_V ? counts[r] : out.size, kUntouched);
      append(mine.table, in, op != WEFT_OP_ALL_GATHER_V);
      append(mine.table, out, op != WEFT_OP_REDUCE_SCATTER_V);
    }
    for (uint32_t r = 0; r < n; ++r) expect(r);
  }

  RankData& operator[](uint32_t r) { return ranks_[r]; }
  [[nodiscard]] uint64_t total() const {
    if (op_ == WEFT_OP_ALL_TO_ALL_V) return 0;
    uint64_t sum = 0;
    for (const uint64_t count : counts_) sum += count;
    return sum;
  }

  void add_to(Group& group, const weft_algorithm& algorithm) {
    for (uint32_t r = 0; r < n_; ++r) {
      group.add(r, algorithm, total(), 0, ranks_[r].table, ranks_[r].in.data(),
                ranks_[r].out.data());
    }
  }

  void check() const {
    for (uint32_t r = 0; r < n_; ++r) {
      ASSERT_EQ(ranks_[r].out, ranks_[r].expected) << "call " << number_ << ", rank " << r;
    }
  }

 private:
  [[nodiscard]] Counts row(uint32_t r) const {  // of the blocks of r's In
    if (op_ != WEFT_OP_ALL_TO_ALL_V) return counts_;
    return {counts_.begin() + r * n_, counts_.begin() + (r + 1) * n_};
  }
  [[nodiscard]] Counts column(uint32_t r) const {  // of the blocks of r's Out
    if (op_ != WEFT_OP_ALL_TO_ALL_V) return counts_;
    Counts column;
    for (uint32_t i = 0; i < n_; ++i) column.push_back(counts_[i * n_ + r]);
    return column;
  }

  static void append(BlockTable& table, const Side& side, bool exists) {
    for (size_t i = 0; i < side.counts.size(); ++i) {
      table.offsets.push_back(exists ? side.places[i] * 4 : 0);
      table.lengths.push_back(side.counts[i] * 4);
    }
  }

  void expect(uint32_t r) {
    RankData& mine = ranks_[r];
    mine.expected.assign(mine.out.size(), kUntouched);
    if (op_ == WEFT_OP_REDUCE_SCATTER_V) {
      const Side in(counts_);
      for (uint64_t i = 0; i < counts_[r]; ++i) {
        mine.expected[i] = 0;
        for (const RankData& from : ranks_) mine.expected[i] += from.in[in.places[r] + i];
      }
      return;
    }
    const Side out(column(r));
    for (uint32_t q = 0; q < n_; ++q) {
      const uint64_t begin = op_ == WEFT_OP_ALL_GATHER_V ? 0 : Side(row(q)).places[r];
      for (uint64_t i = 0; i < out.counts[q]; ++i) {
        mine.expected[out.places[q] + i] = ranks_[q].in[begin + i];
      }
    }
  }

  const uint32_t op_;
  const uint32_t n_;
  const uint32_t number_;
  const Counts counts_;
  std::vector<RankData> ranks_;
};

/// Several calls in a row, each with lengths of its own: none, one, few and many elements.
void run_calls(const weft_algorithm& algorithm, uint32_t n, uint32_t seed, uint64_t scratch) {
  constexpr uint64_t kLengths[] = {0, 1, 7, 16, 17, 100, 0, 1003};
  std::mt19937 random(seed + n);
  Group group(n, kPatience, scratch);
  std::deque<CallData> calls;
  for (uint32_t call = 0; call < 6; ++call) {
    Counts counts(algorithm.op == WEFT_OP_ALL_TO_ALL_V ? size_t{n} * n : n);
    for (uint64_t& count : counts) count = call == 3 ? 0 : kLengths[random() % 8];
    calls.emplace_back(algorithm.op, n, call, counts).add_to(group, algorithm);
  }
  seed == 0 ? group.run_on_threads() : group.run(seed);
  for (const CallData& call : calls) call.check();
}

void run_all(const weft_algorithm& algorithm, uint64_t scratch = kScratch) {
  for (const uint32_t n : {2, 3, 4, 7}) {
    for (uint32_t seed = 1; seed < 5; ++seed) {
      SCOPED_TRACE(std::to_string(n) + " ranks, seed " + std::to_string(seed));
      run_calls(algorithm, n, seed, scratch);
    }
  }
  SCOPED_TRACE("threads");
  run_calls(algorithm, 3, 0, scratch);
}

TEST(Blocks, AGatherPutsEveryBlockInItsPlaceAndNothingElsewhere) {
  run_all(weft_algorithm_gather);
  run_all(weft_algorithm_push);
}

TEST(Blocks, ASumOfUnevenBlocksGoesToTheirOwners) { run_all(weft_algorithm_sum); }

TEST(Blocks, UnevenBlocksAreCutIntoPiecesThatFitIntoScratch) {
  run_all(weft_algorithm_sum_through_scratch, 7 * 128);
  run_all(weft_algorithm_sum_in_a_ring, 7 * 64);
  run_all(weft_algorithm_sum_in_a_ring);
}

TEST(Blocks, AnExchangePutsEveryBlockInItsPlaceAndNothingElsewhere) {
  run_all(weft_algorithm_exchange);
  run_all(weft_algorithm_deliver);
}

TEST(Blocks, BuffersOfEmptyBlocksMayBeNull) {
  Group group(2);
  const Counts counts{0, 5, 0, 0};  // rank 0 only sends, rank 1 only receives
  CallData call(WEFT_OP_ALL_TO_ALL_V, 2, 0, counts);
  group.add(0, weft_algorithm_exchange, 0, 0, call[0].table, call[0].in.data(), nullptr);
  group.add(1, weft_algorithm_exchange, 0, 0, call[1].table, nullptr, call[1].out.data());
  group.run(1);
  EXPECT_EQ(call[1].out, call[1].expected);
}

TEST(Blocks, StagingCopiesTheBlocksAndNothingBetweenThem) {
  constexpr uint32_t kRanks = 3;
  Group group(kRanks);
  CallData call(WEFT_OP_ALL_TO_ALL_V, kRanks, 0, {2, 0, 40, 7, 1, 0, 0, 300, 5});
  std::deque<std::vector<int32_t>> seen;  // by peers: In, Out of each rank
  for (uint32_t r = 0; r < kRanks; ++r) {
    RankData& mine = call[r];
    std::vector<int32_t>& in = seen.emplace_back(mine.in.size(), kUntouched);
    std::vector<int32_t>& out = seen.emplace_back(mine.out.size(), kUntouched + 1);
    Task& task = group.add(r, weft_algorithm_exchange, 0, 0, mine.table, in.data(), out.data());
    task.before = {in.data(), mine.in.data(), in.size() * 4, kRanks, 0};
    task.after = {mine.out.data(), out.data(), out.size() * 4, kRanks, kRanks};
  }
  group.run(1);
  call.check();
  for (uint32_t r = 0; r < kRanks; ++r) {
    std::vector<int32_t> expected(call[r].in.size(), kUntouched);
    for (uint32_t j = 0; j < kRanks; ++j) {
      const uint64_t begin = call[r].table.offsets[j] / 4;
      const uint64_t end = begin + call[r].table.lengths[j] / 4;
      for (uint64_t i = begin; i < end; ++i) expected[i] = call[r].in[i];
    }
    EXPECT_EQ(seen[2 * r], expected) << "rank " << r;
  }
}

TEST(Blocks, StagingOfOneBlockCopiesAllOfIt) {
  Group group(2);
  CallData call(WEFT_OP_ALL_GATHER_V, 2, 0, {5, 70});
  std::vector<int32_t> seen[2] = {std::vector<int32_t>(5), std::vector<int32_t>(70)};
  for (uint32_t r = 0; r < 2; ++r) {
    RankData& mine = call[r];
    Task& task =
        group.add(r, weft_algorithm_gather, 75, 0, mine.table, seen[r].data(), mine.out.data());
    task.before = {seen[r].data(), mine.in.data(), mine.in.size() * 4};
  }
  group.run(1);
  call.check();
}

/// Resumes all ranks until all have failed; returns what each said.
std::vector<std::string> failures(Group& group, int32_t code) {
  std::vector<std::string> texts(group.ranks());
  for (int round = 0; round < 10000; ++round) {
    for (uint32_t r = 0; r < group.ranks(); ++r) {
      if (group.idle(r)) continue;
      const int32_t result = group.step(r);
      EXPECT_NE(result, WEFT_TASK_DONE) << "rank " << r;
      if (result <= 0) continue;
      EXPECT_EQ(result, code);
      texts[r] = last_task_error;
    }
  }
  return texts;
}

TEST(Blocks, DifferentLengthsFailOnAllRanksAndNameBothCalls) {
  Group group(3);
  CallData right(WEFT_OP_ALL_GATHER_V, 3, 0, {5, 6, 7});
  CallData wrong(WEFT_OP_ALL_GATHER_V, 3, 0, {5, 6, 8});
  for (uint32_t r = 0; r < 3; ++r) {
    CallData& call = r == 2 ? wrong : right;
    group.add(r, weft_algorithm_gather, call.total(), r == 2 ? 0xabc : 0xdef, call[r].table,
              call[r].in.data(), call[r].out.data());
  }
  for (const std::string& text : failures(group, HCCL_E_PARA)) {
    EXPECT_NE(text.find("all_gather_v of 18 int32 in all"), std::string::npos) << text;
    EXPECT_NE(text.find("all_gather_v of 19 int32 in all"), std::string::npos) << text;
    EXPECT_NE(text.find("rank 2"), std::string::npos) << text;
  }
}

TEST(Blocks, DifferentLengthsWithTheSameSumFailToo) {
  Group group(2);
  CallData calls[] = {{WEFT_OP_REDUCE_SCATTER_V, 2, 0, {5, 6}},
                      {WEFT_OP_REDUCE_SCATTER_V, 2, 0, {6, 5}}};
  for (uint32_t r = 0; r < 2; ++r) {
    group.add(r, weft_algorithm_sum, 11, 1 + r, calls[r][r].table, calls[r][r].in.data(),
              calls[r][r].out.data());
  }
  for (const std::string& text : failures(group, HCCL_E_PARA)) {
    EXPECT_NE(text.find("different counts or displacements"), std::string::npos) << text;
  }
  for (uint32_t r = 0; r < 2; ++r) {
    EXPECT_EQ(calls[r][r].out, std::vector<int32_t>(5, kUntouched)) << "rank " << r;
  }
}

/// Rank 0 sends `given` elements to rank 1, but rank `liar` says `told`.
void expect_block_mismatch(uint32_t liar, uint64_t given, uint64_t told) {
  Group group(3);
  const auto counts = [](uint64_t block) { return Counts{1, block, 2, 3, 4, 5, 6, 7, 8}; };
  CallData truth(WEFT_OP_ALL_TO_ALL_V, 3, 0, counts(given));
  CallData lie(WEFT_OP_ALL_TO_ALL_V, 3, 0, counts(told));
  for (uint32_t r = 0; r < 3; ++r) {
    CallData& call = r == liar ? lie : truth;
    group.add(r, weft_algorithm_exchange, 0, 0, call[r].table, call[r].in.data(),
              call[r].out.data());
  }
  const uint64_t sent = liar == 0 ? told : given;
  const uint64_t expected = liar == 1 ? told : given;
  const std::string wanted = "rank 0 sends " + std::to_string(sent) +
                             " elements to rank 1, which expects " + std::to_string(expected);
  for (const std::string& text : failures(group, HCCL_E_PARA)) {
    EXPECT_NE(text.find(wanted), std::string::npos) << text;
    EXPECT_NE(text.find("all_to_all_v of int32"), std::string::npos) << text;
  }
}

TEST(Blocks, LengthsThatDoNotMeetFailOnAllRanksWithBothNumbers) {
  expect_block_mismatch(0, 10, 11);  // the sender is wrong, then the receiver
  expect_block_mismatch(1, 10, 11);
  expect_block_mismatch(0, 0, 1);
  expect_block_mismatch(1, 2000, 0);
}

}  // namespace
}  // namespace weft::exec
