// SPDX-License-Identifier: Apache-2.0
// The timing loop.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>

#include "common.hpp"
#include "data.hpp"

namespace weft::peers {
namespace {

// The same as in `weft bench`.
constexpr double kShortestBatch = 100e-6;  // seconds: reading the clock must not count
constexpr double kWarmUp = 2e-3;
constexpr uint64_t kFewestBatches = 5;

// Not there: a unit that takes this long, in seconds, is not repeated as often as that.
constexpr double kSlow = 0.2;
constexpr double kSlowTotal = 1;

// Memory of a rank for the receive buffers of calls that overlap.
constexpr uint64_t kOverlapElements = (uint64_t{64} << 20) / sizeof(float);
constexpr float kUntouched = -1;

class Run {
 public:
  Run(const Options& options, Team& team, Peer& peer, uint64_t bytes);
  void measure();

 private:
  // Units of `queue` calls: how many are timed.
  struct Plan {
    uint64_t units;  // of a batch
    uint64_t batches;
  };

  bool one_buffer() const { return job_.op == Op::kBroadcast || peer_.in_place(job_.op); }
  void prepare();
  uint64_t wrong() const;
  uint64_t checked_call();
  void unit();
  double time_units(uint64_t units);
  double fastest_unit();
  void choose_way();
  Plan plan();
  void print(const Plan& plan, uint64_t wrong);

  const Options& options_;
  Team& team_;
  Peer& peer_;
  Shape shape_;
  Numbers numbers_;
  std::vector<std::unique_ptr<Buffer>> buffers_;
  Job job_;
  bool overlap_ = false;
};

Run::Run(const Options& options, Team& team, Peer& peer, uint64_t bytes)
    : options_(options),
      team_(team),
      peer_(peer),
      shape_(make_shape(options.op, team.rank(), team.ranks(), bytes)),
      numbers_(team.ranks()),
      job_{options.op, team.rank(), team.ranks(), shape_.count, nullptr, nullptr, {}} {
  const auto buffer = [this](uint64_t elements) {
    buffers_.push_back(std::make_unique<Buffer>(elements));
    return buffers_.back()->data();
  };
  job_.send = buffer(one_buffer() ? std::max(shape_.send, shape_.receive) : shape_.send);
  job_.receive = one_buffer() ? job_.send : buffer(shape_.receive);
  if (options.queue > 1 && peer.overlaps()) {
    // The same number on all ranks: a call has as many buffers everywhere.
    const uint64_t room = kOverlapElements / (shape_.bytes / sizeof(float));
    const uint64_t calls = std::min<uint64_t>(options.queue, std::max<uint64_t>(1, room));
    while (job_.others.size() + 1 < calls) job_.others.push_back(buffer(shape_.receive));
  }
  peer.begin(job_);
}

// Only the root has something to broadcast.
void Run::prepare() {
  const bool sends = job_.op != Op::kBroadcast || job_.rank == 0;
  const auto fill = [&](float* receive) {
    std::fill_n(receive, shape_.receive, kUntouched);
    if (one_buffer() && sends) numbers_.write(receive, job_.rank, 0, shape_.send);
  };
  fill(job_.receive);
  for (float* other : job_.others) fill(other);
  if (!one_buffer()) numbers_.write(job_.send, job_.rank, 0, shape_.send);
}

uint64_t Run::wrong() const {
  uint64_t wrong = wrong_elements(numbers_, job_, job_.receive);
  if (!overlap_) return wrong;
  for (const float* other : job_.others) wrong += wrong_elements(numbers_, job_, other);
  return wrong;
}

uint64_t Run::checked_call() {
  prepare();
  team_.barrier();  // a peer may read the buffers of another rank
  if (overlap_) {
    peer_.overlapped();
  } else {
    peer_.call();
  }
  return wrong();
}

void Run::unit() {
  if (!overlap_) {
    for (uint32_t i = 0; i < options_.queue; ++i) peer_.call();
    return;
  }
  const size_t together = job_.others.size() + 1;
  uint32_t left = options_.queue;
  for (; left >= together; left -= uint32_t(together)) peer_.overlapped();
  for (; left > 0; --left) peer_.call();
}

double Run::time_units(uint64_t units) {
  team_.barrier();
  const auto start = std::chrono::steady_clock::now();
  for (uint64_t i = 0; i < units; ++i) unit();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double Run::fastest_unit() {
  constexpr int kTries = 3;
  double fastest = team_.largest(time_units(1));
  for (int i = 1; i < kTries && fastest < kSlow; ++i) {
    fastest = std::min(fastest, team_.largest(time_units(1)));
  }
  return fastest;
}

// Queued calls either follow one another or overlap: whatever is faster here.
void Run::choose_way() {
  if (job_.others.empty()) return;
  const double in_turn = fastest_unit();
  overlap_ = true;
  overlap_ = fastest_unit() < in_turn;
}

// Warms up until the time of a unit is known well enough.
Run::Plan Run::plan() {
  unit();
  uint64_t units = 1;
  double took = team_.largest(time_units(units));
  while (took < kWarmUp) {
    units *= 4;
    took = team_.largest(time_units(units));
  }
  const double each = took / double(units);
  const double wanted = std::ceil(options_.min_time / each);
  Plan plan{};
  plan.units = std::max<uint64_t>(1, uint64_t(std::ceil(kShortestBatch / each)));
  plan.units = std::max(plan.units, uint64_t(wanted) / Team::kMostBatches);
  const uint64_t fewest =
      each < kSlow ? kFewestBatches : std::max<uint64_t>(1, uint64_t(kSlowTotal / each));
  plan.batches =
      uint64_t(std::clamp(wanted / double(plan.units), double(fewest), double(Team::kMostBatches)));
  return plan;
}

void Run::measure() {
  uint64_t bad = checked_call();
  choose_way();
  if (overlap_) bad += checked_call();
  const Plan timed = plan();
  // The timed calls in place consume their own results: their data means nothing.
  const bool keeps_input = !peer_.in_place(job_.op);
  if (keeps_input) prepare();
  for (uint64_t batch = 0; batch < timed.batches; ++batch) {
    team_.batch_time(job_.rank, batch) = time_units(timed.units);
  }
  bad += keeps_input ? wrong() : checked_call();
  const uint64_t all_bad = team_.sum(bad);
  if (job_.rank == 0) print(timed, all_bad);
  team_.barrier();  // rank 0 has read the times
}

void Run::print(const Plan& plan, uint64_t wrong) {
  std::vector<double> times(plan.batches);
  for (uint64_t batch = 0; batch < plan.batches; ++batch) {
    for (uint32_t rank = 0; rank < job_.ranks; ++rank) {
      times[batch] = std::max(times[batch], team_.batch_time(rank, batch));
    }
  }
  std::sort(times.begin(), times.end());
  const uint64_t calls = plan.units * options_.queue;
  const double scale = 1e6 / double(calls);
  const double median = (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
  std::printf(
      "{\"operation\": \"%s\", \"ranks\": %u, \"bytes\": %llu, \"queue\": %u, \"way\": \"%s\", "
      "\"calls_per_batch\": %llu, \"batches\": %llu, \"min_us\": %.4f, \"median_us\": %.4f, "
      "\"max_us\": %.4f, \"wrong\": %llu}\n",
      options_.op_name.c_str(), job_.ranks, static_cast<unsigned long long>(shape_.bytes),
      options_.queue, overlap_ ? "nonblocking" : "blocking", static_cast<unsigned long long>(calls),
      static_cast<unsigned long long>(plan.batches), times.front() * scale, median * scale,
      times.back() * scale, static_cast<unsigned long long>(wrong));
  std::fflush(stdout);
}

}  // namespace

void measure(const Options& options, Team& team, Peer& peer) {
  for (const uint64_t bytes : options.sizes) {
    alarm(options.timeout);
    Run(options, team, peer, bytes).measure();
  }
}

}  // namespace weft::peers
