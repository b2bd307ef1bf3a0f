// SPDX-License-Identifier: Apache-2.0
// What one rank of a bench has and does.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "acl/acl.h"
#include "bench/buffers.hpp"
#include "bench/call.hpp"
#include "bench/complaint.hpp"
#include "bench/layout.hpp"
#include "bench/limit.hpp"
#include "bench/pattern.hpp"
#include "bench/spec.hpp"
#include "bench/team.hpp"
#include "bench/work.hpp"
#include "process.hpp"

namespace weft::tools {

using Seconds = std::chrono::duration<double>;

class Member {
 public:
  Member(const Spec& spec, Team& team, uint32_t rank)
      : spec_(spec), team_(team), rank_(rank), device_(int32_t(rank % spec.devices)) {}

  void join();
  void measure(const Shape& shape);
  void explain(const Shape& shape);
  /// Two arms in turn, until one is known to be the faster or `seconds` are over. 0: no limit.
  void compare(const Shape& shape, double seconds);
  /// All arms in turn, in an order that is drawn for each turn. Who is known to be slower than
  /// another one by far drops out. Ends when only the fastest is left or `seconds` are over.
  void race(const Shape& shape, double seconds);
  void leave();

 private:
  // How much is timed, the same on all ranks. A unit is spec.queue calls and one synchronisation.
  struct Plan {
    uint64_t units;  // of a batch
    uint64_t batches;
  };

  void need(const char* function, int code) { tools::need(team_, rank_, function, code); }
  HcclComm new_communicator();
  void join_arms();
  void make_patterns();
  void make_buffers();
  void place(const Shape& shape);
  void prepare();
  uint64_t wrong(uint64_t slots = 1);
  uint64_t wrong_barriers(const Call& call);
  uint64_t checked_call(const Call& call);
  void carry_out(const Call& call, uint64_t calls = 1, const Work* work = nullptr);
  template <class Body>
  Seconds time_units(uint64_t units, const Body& body);
  Seconds time_units(const Call& call, uint64_t units);
  uint64_t checked_limit(const Shape& shape);
  void time_overlap(const Call& call, uint64_t units, uint64_t batch);
  Seconds warm_up(const Call& call);
  Plan plan(const Call& call);
  Call call(const Shape& shape) const;
  size_t stride(const Layout& layout) const;
  uint64_t slots(const Layout& layout) const;
  Row describe(const Shape& shape, uint64_t wrong);
  template <class Time>
  std::vector<double> slowest(const Plan& timed, const Time& time) const;
  Row row(const Shape& shape, const Plan& plan, uint64_t wrong);
  Call of_arm(const Shape& shape, size_t arm);
  uint64_t checked_arm(const Shape& shape, size_t arm);
  double time_arm(const Shape& shape, size_t arm, uint64_t units);
  uint64_t block_of(const Shape& shape, size_t arm);
  bool over(Clock::time_point deadline);
  void report(const Shape& shape, uint32_t arm);

  const Spec& spec_;
  Team& team_;
  uint32_t rank_;
  int32_t device_;
  aclrtStream stream_ = nullptr;
  HcclComm comm_ = nullptr;
  std::vector<HcclComm> comms_;           // of the arms
  Clock::time_point told_;                // of progress, the last time
  std::map<uint32_t, Pattern> patterns_;  // by source
  std::optional<Buffer> first_;
  std::optional<Buffer> second_;  // not there in place
  std::optional<Limit> limit_;
  std::optional<Work> work_;
  Layout layout_;  // of the current size
  // Where a call reads and writes: a buffer and an offset in bytes.
  Buffer* send_ = nullptr;
  Buffer* receive_ = nullptr;
  size_t send_at_ = 0;
  size_t receive_at_ = 0;
  uint64_t slots_ = 1;
  size_t stride_ = 0;
};

}  // namespace weft::tools
