// SPDX-License-Identifier: Apache-2.0
#include "tune/tuner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

#include "arms/duels.hpp"
#include "bench/pace.hpp"
#include "bench/supervisor.hpp"
#include "bench/texts.hpp"
#include "bench/words.hpp"
#include "config/rules.hpp"
#include "tune/candidates.hpp"
#include "tune/choice.hpp"

namespace weft::tools {
namespace {

// Parts of the time.
constexpr double kFirstPass = 0.6;  // for all
constexpr double kFinding = 0.8;    // with what comes after it, for sizes where algorithms change
constexpr int kPasses = 3;
// All is measured in two launches, the second with the candidates in reverse order: the place of a
// communicator's memory, and when it was made, can be worth some percent.
constexpr double kLaunches = 2;
constexpr double kError = 1e-3;  // there are hundreds of comparisons

using Seconds = std::chrono::duration<double>;

double seconds_until(Clock::time_point end) { return Seconds(end - Clock::now()).count(); }

/// Takes what the ranks tell of one operation.
class Listener final : public Rows {
 public:
  Listener(const Task& task, bool reversed, ProgressLine& line)
      : task_(task), reversed_(reversed), line_(line) {}

  void add(const Standing& standing) override;
  void add(const Progress& progress) override;

  [[nodiscard]] const std::vector<SizeFindings>& sizes() const { return sizes_; }
  /// "all_reduce of 1024 bytes by mesh.two_shot": what was being done.
  [[nodiscard]] std::string where() const;

 private:
  [[nodiscard]] size_t candidate(uint32_t arm) const {
    return reversed_ ? task_.candidates.size() - 1 - arm : arm;
  }

  const Task& task_;
  const bool reversed_;
  ProgressLine& line_;
  std::vector<SizeFindings> sizes_;
  Progress last_{};
};

void Listener::add(const Standing& standing) {
  if (sizes_.empty() || sizes_.back().bytes != standing.shape.bytes) {
    sizes_.push_back({standing.shape.bytes, std::vector<Timing>(task_.candidates.size()), 0, {}});
  }
  sizes_.back().timings[candidate(standing.arm)] = {standing.median_us, standing.blocks,
                                                    standing.wrong, standing.slower != 0};
  const std::string& wanted = task_.candidates[candidate(standing.arm)].arm.use;
  if (wanted == standing.algorithm) return;
  throw Failure(
      fmt::format("{} was carried out by {}, not by {}", where(), standing.algorithm, wanted));
}

void Listener::add(const Progress& progress) {
  last_ = progress;
  line_.show(where());
}

std::string Listener::where() const {
  std::string text = calls_text(task_.op, last_.shape.bytes);
  if (last_.arm < task_.candidates.size()) {
    text += " by " + task_.candidates[candidate(last_.arm)].arm.text();
  }
  return text;
}

}  // namespace

/// Some sizes of one operation, as a run of its ranks.
struct Tuner::Part {
  size_t task = 0;
  Spec spec;
  std::vector<double> least;  // seconds, by size
};

Tuner::Tuner(const Spec& spec, bool deterministic, const LoadedPolicy& loaded,
             const std::vector<Task>& tasks)
    : spec_(spec), deterministic_(deterministic), loaded_(loaded), tasks_(tasks) {
  for (const Task& task : tasks_) {
    const uint32_t op = policy_operation(task.op);
    std::vector<std::string> files;
    for (const Candidate& each : task.candidates) {
      files.push_back(
          files_.add(fmt::format("{}-{}.toml", facts(task.op).name, files.size()),
                     policy_of(each.arm, op, loaded_.policy.settings(), *loaded_.registry)));
    }
    arms_.push_back(std::move(files));
    Tuned tuned;
    tuned.findings.op = op;
    tuned.findings.by_bytes = config::why_meaningless("bytes", op).empty();
    tuned.findings.candidates = task.candidates;
    tuned.stretches = choose(tuned.findings);
    tuned_.push_back(std::move(tuned));
  }
}

Tuner::Part Tuner::part_of(size_t task, const std::vector<uint64_t>& sizes) const {
  Part part;
  part.task = task;
  part.spec = spec_;
  part.spec.op = tasks_[task].op;
  part.spec.arms = arms_[task];
  part.spec.race = true;
  part.spec.error = kError;
  part.spec.sizes = sizes;
  for (const Shape& shape : shapes(part.spec)) {
    part.least.push_back(tools::least_time(part.spec, shape));
  }
  part.least.front() += starting_time(part.spec);
  return part;
}

double Tuner::least_time() const {
  double sum = 0;
  for (size_t task = 0; task < tasks_.size(); ++task) {
    const Part part = part_of(task, {});
    sum = std::accumulate(part.least.begin(), part.least.end(), sum);
  }
  return kLaunches * sum / kFirstPass;
}

/// Between the sizes where algorithms change.
std::vector<Tuner::Part> Tuner::more() const {
  std::vector<Part> parts;
  for (size_t task = 0; task < tasks_.size(); ++task) {
    const Tuned& tuned = tuned_[task];
    std::vector<uint64_t> sizes;
    for (const uint64_t bytes : middles(tuned.findings, tuned.stretches)) {
      Spec spec = spec_;
      spec.op = tasks_[task].op;
      spec.sizes = {bytes};
      const uint64_t whole = shapes(spec).front().bytes;
      const bool known = std::ranges::any_of(
          tuned.findings.sizes, [whole](const SizeFindings& each) { return each.bytes == whole; });
      if (!known) sizes.push_back(whole);
    }
    if (!sizes.empty()) parts.push_back(part_of(task, sizes));
  }
  return parts;
}

void Tuner::add(size_t task, const std::vector<SizeFindings>& sizes) {
  Findings& findings = tuned_[task].findings;
  for (SizeFindings size : sizes) {
    const config::Query query =
        query_of(findings.op, size.bytes, spec_.ranks, spec_.type, deterministic_);
    const Arm before = arm_of(loaded_.policy.choose(query));
    const auto at = std::ranges::find(findings.candidates, before, &Candidate::arm);
    if (at == findings.candidates.end()) {
      throw Failure(fmt::format("{}: the policy's choice {} was refused",
                                facts(tasks_[task].op).name, before.text()));
    }
    size.base = size_t(at - findings.candidates.begin());
    findings.sizes.push_back(std::move(size));
  }
  std::ranges::sort(findings.sizes, {}, &SizeFindings::bytes);
  tuned_[task].stretches = choose(findings);
}

int Tuner::measure(const Part& part, double seconds, bool again, std::vector<SizeFindings>& found) {
  Spec spec = part.spec;
  const double timed = std::max(1e-3, seconds - starting_time(spec));
  spec.time = std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(timed));
  if (again) std::ranges::reverse(spec.arms);
  Listener listener(tasks_[part.task], again, *line_);
  try {
    if (const int code = supervise(spec, listener); code != 0) return code;
  } catch (const Failure& failure) {
    throw Failure(fmt::format("{}: {}", listener.where(), failure.what()));
  }
  if (!again) {
    found = listener.sizes();
    return 0;
  }
  for (size_t i = 0; i < found.size(); ++i) found[i] = merged(found[i], listener.sizes()[i]);
  add(part.task, found);
  return 0;
}

int Tuner::measure(const std::vector<Part>& parts, double seconds) {
  const auto after = [](double time) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(time));
  };
  const Clock::time_point end = after(seconds);
  std::vector<std::vector<SizeFindings>> found(parts.size());
  std::vector<double> least;
  for (const Part& part : parts) least.insert(least.end(), part.least.begin(), part.least.end());
  for (const bool again : {false, true}) {
    const Clock::time_point until = again ? end : after(seconds / kLaunches);
    size_t done = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      const Part& part = parts[i];
      const Clock::time_point begin = Clock::now();
      const size_t count = part.least.size();
      const double its = share(seconds_until(until), std::span(least).subspan(done), count);
      done += count;
      if (const int code = measure(part, its, again, found[i]); code != 0) return code;
      line_->note(fmt::format("{}: {} sizes, {} algorithms, launch {} of 2, {:.1f} s",
                              facts(part.spec.op).name, count, part.spec.arms.size(), again ? 2 : 1,
                              Seconds(Clock::now() - begin).count()));
    }
  }
  return 0;
}

int Tuner::find(Clock::time_point end) {
  std::vector<Part> parts;
  for (size_t task = 0; task < tasks_.size(); ++task) parts.push_back(part_of(task, {}));
  const double first = seconds_until(end) * kFirstPass / kFinding;
  if (const int code = measure(parts, first); code != 0) return code;
  for (int pass = 1; pass < kPasses; ++pass) {
    parts = more();
    double needed = 0;
    for (const Part& part : parts) {
      needed = std::accumulate(part.least.begin(), part.least.end(), needed);
    }
    needed *= kLaunches;
    const double left = seconds_until(end);
    if (parts.empty() || left < needed) break;
    // Half of it, so that the next pass has some too; the last one takes the rest.
    const double its = pass + 1 == kPasses ? left : std::max(needed, left / 2);
    if (const int code = measure(parts, its); code != 0) return code;
  }
  return 0;
}

/// Duels of what was chosen anew with what was before, at all sizes where they differ.
Tuner::Claims Tuner::claims() const {
  Claims claims;
  for (size_t task = 0; task < tasks_.size(); ++task) {
    const Tuned& tuned = tuned_[task];
    std::map<std::pair<size_t, size_t>, std::vector<uint64_t>> sizes;  // by base and candidate
    for (const Stretch& stretch : tuned.stretches) {
      for (size_t i = stretch.first; stretch.candidate && i <= stretch.last; ++i) {
        const SizeFindings& size = tuned.findings.sizes[i];
        const bool same = *stretch.candidate == size.base;
        // Wrong results need no other reason.
        if (same || !tuned.findings.is_right(size.base)) continue;
        sizes[{size.base, *stretch.candidate}].push_back(size.bytes);
      }
    }
    for (const auto& [pair, bytes] : sizes) {
      Spec duel = spec_;
      duel.op = tasks_[task].op;
      duel.arms = {arms_[task][pair.first], arms_[task][pair.second]};
      duel.sizes = bytes;
      claims.duels.push_back(std::move(duel));
      claims.of.push_back({task, pair.first, pair.second});
    }
  }
  return claims;
}

/// A choice among many at many sizes is sometimes chance, and what holds on a machine may change
/// within a minute: what is chosen anew has to win once more, without the others.
int Tuner::confirm(double seconds) {
  constexpr double kEnough = 4;  // times the least, so that there can be a verdict
  const auto [duels, of] = claims();
  if (duels.empty()) return 0;
  std::vector<std::vector<Rematch>> rematches(tasks_.size());
  const auto answer = [&](size_t duel, const Comparison& found) {
    const Claim& claim = of[duel];
    Findings& findings = tuned_[claim.task].findings;
    const auto at = std::ranges::find(findings.sizes, found.shape.bytes, &SizeFindings::bytes);
    if (at == findings.sizes.end()) throw std::logic_error("a size that was not asked for");
    at->timings[claim.base].wrong += found.arms[0].wrong;
    at->timings[claim.candidate].wrong += found.arms[1].wrong;
    const bool wrong = found.arms[1].wrong != 0;
    const bool better = found.faster == 2 && found.ratio * kMatters < 1;
    const bool faster = !wrong && (better || found.arms[0].wrong != 0);
    const bool slower = wrong || (!faster && found.ratio > kMatters);
    rematches[claim.task].push_back(
        {size_t(at - findings.sizes.begin()), faster, slower, found.ratio});
    if (faster) return;
    line_->say(fmt::format("{}: {} against {} once more: ratio {:.2f}, not clearly faster",
                           calls_text(tasks_[claim.task].op, at->bytes),
                           findings.candidates[claim.candidate].arm.text(),
                           findings.candidates[claim.base].arm.text(), found.ratio));
  };
  const double its = std::max(seconds, kEnough * tools::least_time(duels));
  if (const int code = run_duels(duels, its, *line_, answer); code != 0) return code;
  for (size_t task = 0; task < tasks_.size(); ++task) {
    Tuned& tuned = tuned_[task];
    settle(tuned.findings, tuned.stretches, rematches[task]);
    tuned.stretches = choose(tuned.findings);
  }
  return 0;
}

int Tuner::run(ProgressLine& line) {
  line_ = &line;
  const Clock::time_point begin = Clock::now();
  const auto whole = std::chrono::duration_cast<Clock::duration>(spec_.time);
  const auto finding = std::chrono::duration_cast<Clock::duration>(whole * kFinding);
  if (const int code = find(begin + finding); code != 0) return code;
  return confirm(seconds_until(begin + whole));
}

}  // namespace weft::tools
