// SPDX-License-Identifier: Apache-2.0
#include "tune/choice.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>

namespace weft::tools {
namespace {

constexpr double kClose = 1.5;  // sizes, as a ratio

// What one rule less may cost at all sizes together, as the logarithm of a ratio of times. This is
// about differences that may be chance.
constexpr double kRule = 0.2;

/// Compared from left to right. Sums are of logarithms.
struct Cost {
  size_t bad = 0;         // sizes at which the choice is clearly slower, or wrong, or not left
  size_t other_bits = 0;  // sizes at which it sums in another order, though a good one does not
  double price = 0;       // of the rules, and of what seems slower than before
  size_t left = 0;  // sizes at which what was chosen before is good and something else is chosen
  double loss = 0;  // sum of time / shortest time
  size_t changes = 0;

  [[nodiscard]] auto key() const { return std::tuple(bad, other_bits, price, left, loss, changes); }
};

// A choice is the number of a candidate, or the number of candidates: as before.
class Chooser {
 public:
  explicit Chooser(const Findings& findings)
      : findings_(findings), before_(findings.candidates.size()) {}

  [[nodiscard]] std::vector<size_t> by_size() const;
  [[nodiscard]] std::vector<size_t> one_for_all() const;

 private:
  [[nodiscard]] bool has_ordered(size_t size) const;
  [[nodiscard]] Cost of(size_t size, size_t choice) const;
  [[nodiscard]] Cost follow(Cost cost, size_t from, size_t size, size_t choice) const;
  [[nodiscard]] Cost begin(size_t choice) const;

  const Findings& findings_;
  const size_t before_;
};

double shortest(const SizeFindings& size) {
  double best = std::numeric_limits<double>::infinity();
  for (const Timing& each : size.timings) {
    if (each.blocks != 0 && each.wrong == 0) best = std::min(best, each.median_us);
  }
  return best;
}

/// Some candidate is good and sums in rank order.
bool Chooser::has_ordered(size_t size) const {
  for (size_t i = 0; i < findings_.candidates.size(); ++i) {
    if (findings_.is_good(size, i) && !findings_.candidates[i].reorders) return true;
  }
  return false;
}

Cost Chooser::of(size_t size, size_t choice) const {
  const SizeFindings& at = findings_.sizes[size];
  const size_t candidate = choice == before_ ? at.base : choice;
  const double best = shortest(at);
  Cost cost;
  const bool fits = at.left.empty() ? findings_.is_good(size, candidate)
                                    : std::ranges::find(at.left, candidate) != at.left.end();
  cost.bad = fits ? 0 : 1;
  const bool reorders = choice != before_ && findings_.candidates[choice].reorders;
  cost.other_bits = reorders && has_ordered(size) ? 1 : 0;
  const Timing& timing = at.timings[candidate];
  if (timing.blocks == 0 || !std::isfinite(best)) return cost;
  cost.loss = std::log(timing.median_us / best);
  if (choice == before_) return cost;
  // Where what was chosen before is good, it need not be left.
  const bool keeps = findings_.is_good(size, at.base);
  const double before = keeps ? at.timings[at.base].median_us : best;
  cost.price = std::max(0.0, std::log(timing.median_us / before));
  cost.left = keeps && candidate != at.base ? 1 : 0;
  return cost;
}

Cost Chooser::begin(size_t choice) const {
  Cost cost = of(0, choice);
  cost.price += choice == before_ ? 0 : kRule;
  return cost;
}

Cost Chooser::follow(Cost cost, size_t from, size_t size, size_t choice) const {
  const Cost more = of(size, choice);
  cost.bad += more.bad;
  cost.other_bits += more.other_bits;
  cost.price += more.price;
  cost.left += more.left;
  cost.loss += more.loss;
  if (choice == from) return cost;
  cost.changes += 1;
  if (choice != before_) cost.price += kRule;
  return cost;
}

/// The cheapest way through all sizes.
std::vector<size_t> Chooser::by_size() const {
  const size_t choices = before_ + 1;
  const size_t sizes = findings_.sizes.size();
  std::vector<Cost> costs;
  for (size_t choice = 0; choice < choices; ++choice) costs.push_back(begin(choice));
  std::vector<std::vector<size_t>> came_from(sizes, std::vector<size_t>(choices));
  const auto cheaper = [](const Cost& a, const Cost& b) { return a.key() < b.key(); };
  for (size_t size = 1; size < sizes; ++size) {
    std::vector<Cost> next(choices);
    for (size_t choice = 0; choice < choices; ++choice) {
      size_t best = choice;
      for (size_t from = 0; from < choices; ++from) {
        if (cheaper(follow(costs[from], from, size, choice),
                    follow(costs[best], best, size, choice))) {
          best = from;
        }
      }
      came_from[size][choice] = best;
      next[choice] = follow(costs[best], best, size, choice);
    }
    costs = std::move(next);
  }
  std::vector<size_t> way(sizes);
  way.back() = size_t(std::min_element(costs.begin(), costs.end(), cheaper) - costs.begin());
  for (size_t size = sizes - 1; size > 0; --size) way[size - 1] = came_from[size][way[size]];
  return way;
}

std::vector<size_t> Chooser::one_for_all() const {
  const auto total = [this](size_t choice) {
    Cost cost = begin(choice);
    for (size_t size = 1; size < findings_.sizes.size(); ++size) {
      cost = follow(cost, choice, size, choice);
    }
    return cost;
  };
  size_t best = before_;
  for (size_t choice = 0; choice < before_; ++choice) {
    if (total(choice).key() < total(best).key()) best = choice;
  }
  return std::vector<size_t>(findings_.sizes.size(), best);
}

/// To few significant bits: "9KiB" is as good as 9381.
uint64_t rounded(double bytes) {
  const uint64_t whole = std::max<uint64_t>(1, uint64_t(bytes));
  const uint64_t step = std::max<uint64_t>(1, std::bit_floor(whole) / 8);
  return (whole + step / 2) / step * step;
}

double between(uint64_t low, uint64_t high, double part) {
  const double from = std::log(std::max<double>(1, double(low)));
  return std::exp(from + part * (std::log(double(high)) - from));
}

/// Where two lines on logarithmic axes meet, as a part of the way from one size to the next.
double meeting(const Timing& first, const Timing& first_at_end, const Timing& second,
               const Timing& second_at_end) {
  constexpr double kMiddle = 0.5;
  for (const Timing* each : {&first, &first_at_end, &second, &second_at_end}) {
    if (each->blocks == 0 || each->wrong != 0) return kMiddle;
  }
  const double lead = std::log(second.median_us / first.median_us);
  const double lag = std::log(first_at_end.median_us / second_at_end.median_us);
  return lead < 0 || lag < 0 || lead + lag == 0 ? kMiddle : lead / (lead + lag);
}

/// The last number of bytes of the stretch that ends at a size; another one begins at the next.
uint64_t last_bytes(const Findings& findings, const Stretch& ends, const Stretch& begins) {
  const SizeFindings& low = findings.sizes[ends.last];
  const SizeFindings& high = findings.sizes[begins.first];
  const size_t before = ends.candidate.value_or(low.base);
  const size_t after = begins.candidate.value_or(high.base);
  // The policy's choice on one side: who knows what it is in between.
  if (before == after) return ends.candidate ? high.bytes - 1 : low.bytes;
  const double part =
      meeting(low.timings[before], high.timings[before], low.timings[after], high.timings[after]);
  return std::clamp(rounded(between(low.bytes, high.bytes, part)), low.bytes, high.bytes - 1);
}

}  // namespace

std::vector<Stretch> choose(const Findings& findings) {
  if (findings.sizes.empty()) return {Stretch{}};
  const Chooser chooser(findings);
  const std::vector<size_t> way = findings.by_bytes ? chooser.by_size() : chooser.one_for_all();
  std::vector<Stretch> stretches;
  for (size_t size = 0; size < way.size(); ++size) {
    if (size == 0 || way[size] != way[size - 1]) {
      Stretch next;
      next.first = size;
      if (way[size] != findings.candidates.size()) next.candidate = way[size];
      stretches.push_back(next);
    }
    stretches.back().last = size;
  }
  for (size_t i = 0; i + 1 < stretches.size(); ++i) {
    stretches[i].bytes.last = last_bytes(findings, stretches[i], stretches[i + 1]);
    stretches[i + 1].bytes.first = stretches[i].bytes.last + 1;
  }
  return stretches;
}

void settle(Findings& findings, const std::vector<Stretch>& stretches,
            const std::vector<Rematch>& rematches) {
  for (const Stretch& stretch : stretches) {
    for (size_t i = stretch.first; i <= stretch.last && i < findings.sizes.size(); ++i) {
      SizeFindings& size = findings.sizes[i];
      size.left = {stretch.candidate.value_or(size.base)};
    }
  }
  const bool lost = !findings.by_bytes &&
                    std::ranges::any_of(rematches, [](const Rematch& each) { return each.slower; });
  for (const Rematch& each : rematches) {
    SizeFindings& size = findings.sizes[each.size];
    size.again = each.ratio;
    if (each.slower || lost) {
      size.left = {size.base};
    } else if (!each.faster) {
      size.left.push_back(size.base);
    }
  }
}

std::vector<uint64_t> middles(const Findings& findings, const std::vector<Stretch>& stretches) {
  std::vector<uint64_t> found;
  for (size_t i = 0; i + 1 < stretches.size(); ++i) {
    const SizeFindings& low = findings.sizes[stretches[i].last];
    const SizeFindings& high = findings.sizes[stretches[i + 1].first];
    const bool same =
        stretches[i].candidate.value_or(low.base) == stretches[i + 1].candidate.value_or(high.base);
    if (same || double(high.bytes) <= kClose * double(low.bytes)) continue;
    const uint64_t middle = rounded(between(low.bytes, high.bytes, 0.5));
    if (middle > low.bytes && middle < high.bytes) found.push_back(middle);
  }
  return found;
}

}  // namespace weft::tools
