// SPDX-License-Identifier: Apache-2.0
// Many arms at one size. Each pair of them is judged by the blocks that both were timed in.
#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "bench/member.hpp"
#include "bench/pace.hpp"
#include "stats/paired_test.hpp"

namespace weft::tools {
namespace {

constexpr double kHopeless = 3;     // times as long as the fastest
constexpr double kNearlyAll = 0.8;  // blocks, in which it must be the slower one then
constexpr double kBehind = 1.1;     // and known to be slower: no use in knowing by how much
constexpr size_t kAtLeast = 20;     // blocks, before that second kind drops out
constexpr size_t kSettled = 40;     // of the last arm, so that its time means something
constexpr size_t kPlenty = 4000;    // blocks; more would tell nothing

struct Runner {
  uint64_t wrong = 0;
  uint64_t block = 1;  // units
  std::vector<double> times;
  double median = 0;
  bool runs = true;
  bool slower = false;
};

/// All arms of a size, seen alike by all ranks.
class Field {
 public:
  Field(size_t arms, double error) : runners_(arms) {
    for (size_t i = 0; i < arms * arms; ++i) tests_.emplace_back(error);
  }

  std::vector<Runner>& runners() { return runners_; }
  [[nodiscard]] std::vector<size_t> running() const;
  /// The times of the last turn.
  void add_turn();
  /// Who is slower, and who need not be timed any more.
  void judge();
  [[nodiscard]] bool settled() const;

 private:
  [[nodiscard]] const stats::PairedTest& test(size_t first, size_t second) const {
    return tests_[first * runners_.size() + second];
  }
  [[nodiscard]] size_t fastest() const;

  std::vector<Runner> runners_;
  std::vector<stats::PairedTest> tests_;  // [first * arms + second], first < second
};

std::vector<size_t> Field::running() const {
  std::vector<size_t> list;
  for (size_t i = 0; i < runners_.size(); ++i) {
    if (runners_[i].runs) list.push_back(i);
  }
  return list;
}

void Field::add_turn() {
  const std::vector<size_t> list = running();
  for (const size_t first : list) {
    for (const size_t second : list) {
      if (first >= second) continue;
      tests_[first * runners_.size() + second].add(runners_[first].times.back(),
                                                   runners_[second].times.back());
    }
  }
}

size_t Field::fastest() const {
  const std::vector<size_t> list = running();
  return *std::min_element(list.begin(), list.end(), [this](size_t a, size_t b) {
    return runners_[a].median < runners_[b].median;
  });
}

void Field::judge() {
  using Verdict = stats::PairedTest::Verdict;
  for (const size_t each : running()) runners_[each].median = stats::median(runners_[each].times);
  const size_t best = fastest();
  for (const size_t each : running()) {
    if (each == best) continue;
    const bool first = each < best;
    const stats::PairedTest& pair = first ? test(each, best) : test(best, each);
    const bool lost = pair.verdict() == (first ? Verdict::kSecond : Verdict::kFirst);
    const double by = first ? 1 / pair.ratio().median : pair.ratio().median;
    const uint64_t losses = first ? pair.second_wins() : pair.first_wins();
    runners_[each].slower = lost && by > kMatters;
    const size_t blocks = runners_[each].times.size();
    const bool hopeless = blocks >= kFewestBlocks && by > kHopeless &&
                          double(losses) >= kNearlyAll * double(pair.pairs());
    if (!hopeless && (!lost || by < kBehind || blocks < kAtLeast)) continue;
    runners_[each].slower = true;
    runners_[each].runs = false;
  }
  runners_[best].slower = false;
  // The machine became slower since it dropped out: who would win now is not known.
  for (Runner& each : runners_) {
    if (!each.times.empty() && each.median < runners_[best].median) each.slower = false;
  }
}

bool Field::settled() const {
  const std::vector<size_t> list = running();
  const size_t blocks = runners_[list.front()].times.size();
  return blocks >= kPlenty || (list.size() == 1 && blocks >= kSettled);
}

}  // namespace

void Member::race(const Shape& shape, double seconds) {
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
  place(shape);
  Field field(comms_.size(), spec_.error);
  std::vector<Runner>& runners = field.runners();
  for (uint32_t arm = 0; arm < runners.size(); ++arm) {
    report(shape, arm);
    runners[arm].wrong = checked_arm(shape, arm);
    runners[arm].runs = runners[arm].wrong == 0;
    if (runners[arm].runs) runners[arm].block = block_of(shape, arm);
  }
  told_ = {};
  std::mt19937_64 random(0x77656674);  // all ranks draw alike
  for (size_t turns = 0; !field.running().empty(); ++turns) {
    const bool look = turns >= kFewestBlocks && (turns < kAtLeast || turns % 16 == 0);
    if (look) field.judge();
    if (look && (field.settled() || over(deadline))) break;
    report(shape, Progress::kAllArms);
    std::vector<size_t> order = field.running();
    std::shuffle(order.begin(), order.end(), random);
    for (const size_t arm : order) {
      runners[arm].times.push_back(time_arm(shape, arm, runners[arm].block));
    }
    field.add_turn();
  }
  for (uint32_t arm = 0; arm < runners.size(); ++arm) {
    Runner& runner = runners[arm];
    if (runner.wrong == 0) runner.wrong = checked_arm(shape, arm);
    if (rank_ != 0) continue;
    Standing standing{};
    standing.shape = shape;
    standing.arm = arm;
    standing.slower = runner.slower ? 1 : 0;
    standing.blocks = runner.times.size();
    standing.block = runner.block * spec_.queue;
    standing.wrong = runner.wrong;
    standing.median_us = runner.median;
    comm_ = comms_[arm];
    const Row last = describe(shape, 0);
    static_assert(sizeof standing.algorithm == sizeof last.call.algorithm);
    std::memcpy(standing.algorithm, last.call.algorithm, sizeof standing.algorithm);
    team_.tell(standing);
  }
  team_.barrier();
}

}  // namespace weft::tools
