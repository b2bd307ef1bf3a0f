// SPDX-License-Identifier: Apache-2.0
#include "proof/timeline.hpp"

#include <algorithm>
#include <deque>

namespace weft::proof {
namespace {

struct Sent {
  size_t mark = 0;  // of the sender
  uint32_t row = 0;
  uint32_t round = 0;
};

class Layout {
 public:
  Layout(std::span<const schedule::Schedule> schedules, uint32_t calls)
      : schedules_(schedules),
        calls_(calls),
        at_(schedules.size()),
        signals_(schedules.size() * schedules.size()) {
    made_.ranks.resize(schedules.size());
  }

  Timeline make() {
    for (bool moved = true; moved;) {
      moved = false;
      for (uint32_t r = 0; r < ranks(); ++r) {
        while (advance(r)) moved = true;
      }
    }
    for (uint32_t r = 0; r < ranks(); ++r) {
      if (const Place& place = at_[r]; place.call <= calls_) add(r, place.row, false);
    }
    return std::move(made_);
  }

 private:
  /// Where a rank stands: at its next step.
  struct Place {
    uint32_t call = 0;
    uint32_t step = 0;
    uint32_t row = 0;
    uint32_t round = 0;
  };

  [[nodiscard]] uint32_t ranks() const { return static_cast<uint32_t>(schedules_.size()); }

  Mark& add(uint32_t r, uint32_t row, bool reached) {
    Place& place = at_[r];
    made_.ranks[r].push_back({place.call, place.step, row, place.round, 0, reached});
    made_.rows = std::max(made_.rows, row + 1);
    place.row = row + 1;
    return made_.ranks[r].back();
  }

  bool advance(uint32_t r) {
    Place& place = at_[r];
    const schedule::Schedule& program = schedules_[r];
    if (place.call > calls_) return false;
    if (place.call == 0 || place.step == program.steps.size()) {
      place = {place.call + 1, schedule::kCallerStep, place.row, 0};
      add(r, place.row, true);
      place.step = 0;
      return true;
    }
    const schedule::Step& step = program.steps[place.step];
    uint32_t row = place.row;
    if (step.verb == WEFT_VERB_WAIT) {
      std::deque<Sent>& arrived = signals_[step.peer * ranks() + r];
      if (arrived.empty()) return false;
      const Sent sent = arrived.front();
      arrived.pop_front();
      place.round = std::max(place.round, sent.round + 1);
      made_.rounds = std::max(made_.rounds, place.round);
      made_.ranks[step.peer][sent.mark].meeting = ++meetings_;
      add(r, std::max(row, sent.row + 1), true).meeting = meetings_;
    } else {
      add(r, row, true);
      if (step.verb == WEFT_VERB_SIGNAL) {
        signals_[r * ranks() + step.peer].push_back({made_.ranks[r].size() - 1, row, place.round});
      }
    }
    ++place.step;
    return true;
  }

  std::span<const schedule::Schedule> schedules_;
  const uint32_t calls_;
  std::vector<Place> at_;
  std::vector<std::deque<Sent>> signals_;  // on their way, [from * ranks + to]
  uint32_t meetings_ = 0;
  Timeline made_;
};

}  // namespace

const Mark* Timeline::find(const schedule::Event& event) const {
  if (event.rank >= ranks.size()) return nullptr;
  for (const Mark& mark : ranks[event.rank]) {
    if (mark.call == event.call && mark.step == event.step) return &mark;
  }
  return nullptr;
}

Timeline timeline(std::span<const schedule::Schedule> schedules, uint32_t calls) {
  return Layout(schedules, calls).make();
}

}  // namespace weft::proof
