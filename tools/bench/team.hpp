// SPDX-License-Identifier: Apache-2.0
// What the ranks of one bench share, whether they are processes or threads: a barrier, numbers, the
// root info, and a pipe to the supervisor. It needs neither HCCL nor ACL, so it can judge them.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "bench/spec.hpp"
#include "hccl/hccl_types.h"
#include "process.hpp"
#include "stats/paired_test.hpp"
#include "weft/comm.h"

namespace weft::tools {

/// One finished row: of rank 0, or of each rank if the bench explains.
struct Row {
  uint32_t rank;
  Shape shape;
  weft_call_info call;          // of the last one
  weft_comm_counters counters;  // of the rank, up to now
  uint64_t calls;               // of one batch
  uint64_t batches;
  double min_us;  // of one call, or one way of it (see trips()); over batches, of the slowest rank
  double median_us;
  double max_us;
  double limit_us;  // median of the hand-written loop; 0 without --limit
  double hidden;    // of the host's computing, the part that took no time; only with --overlap
  uint64_t wrong;   // elements, all ranks
};

/// One communicator that was made and destroyed. Times are of the slowest rank.
struct Creation {
  double root_ms;  // HcclGetRootInfo, on rank 0
  double join_ms;  // HcclCommInitRootInfo
  double destroy_ms;
  double resident;  // bytes; of processes that of the rank with the most
};

using stats::kMatters;

/// Two arms after so many pairs of blocks of calls. Times are of the slowest rank, of one call.
struct Comparison {
  Shape shape;
  uint64_t pairs;
  uint64_t block;     // calls
  uint32_t faster;    // 1 or 2; 0: not known
  uint32_t disagree;  // 1: the launches did, about which is the faster
  struct Arm {
    char algorithm[64];
    uint64_t wrong;  // elements, all ranks
    uint64_t wins;   // pairs in which it was the faster
    double median_us;
    double mean_us;
    double half_width_us;  // of the 95 % confidence interval of the mean
  } arms[2];
  double ratio;  // second by first, median over pairs
  double ratio_low;
  double ratio_high;

  [[nodiscard]] uint64_t wrong() const { return arms[0].wrong + arms[1].wrong; }
};

/// One arm of a race at one size. Times are of the slowest rank, of one call.
struct Standing {
  Shape shape;
  uint32_t arm;
  uint32_t slower;     // it is known to be slower than the fastest, by more than kMatters
  uint64_t blocks;     // that were timed; 0 if a result was wrong
  uint64_t block;      // calls
  uint64_t wrong;      // elements, all ranks
  char algorithm[64];  // that carried out its calls
  double median_us;
};

/// What is being done, told whenever that changes and now and then in between.
struct Progress {
  static constexpr uint32_t kAllArms = UINT32_MAX;
  Shape shape;
  uint32_t arm;  // that makes its first calls of this size
  uint32_t reserved;
};

/// What a rank tells the supervisor.
struct Message {
  enum Kind : uint32_t { kRow, kCreation, kComparison, kStanding, kProgress, kFailure };
  Kind kind;
  uint32_t rank;
  Row row;
  Creation creation;
  Comparison comparison;
  Standing standing;
  Progress progress;
  char text[1024];
};
// A pipe takes up to PIPE_BUF = 4096 bytes in one piece.
static_assert(sizeof(Message) <= 4096);

/// Memory that a rank shows to the others. See Limit.
struct Offer {
  int32_t process;
  char key[65];      // of the whole pages that it lies in; empty within a process
  uint64_t offset;   // of the memory in them
  uint64_t address;  // in its process; 0: no memory
};

class Team {
 public:
  static constexpr uint64_t kMostBatches = 1024;

  /// Makes memory that children share. Throws Failure.
  explicit Team(uint32_t ranks);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // For the ranks. All but tell() and fail() are collective and block without a deadline: the
  // supervisor ends processes that wait for one that failed.

  /// Gives the processor away while it waits.
  void barrier();
  double largest(uint32_t rank, double value);
  uint64_t sum(uint32_t rank, uint64_t value);
  /// Seconds that a batch took on a rank; to be read by others after a barrier.
  double& batch_time(uint32_t rank, uint64_t batch);
  double& limit_time(uint32_t rank, uint64_t batch);
  double& work_time(uint32_t rank, uint64_t batch);  // of the computing alone
  double& both_time(uint32_t rank, uint64_t batch);
  static constexpr uint32_t kOffers = 3;
  /// Written by its rank, read by others after a barrier.
  Offer& offer(uint32_t rank, uint32_t index);
  /// Written by rank 0, read by others after a barrier.
  HcclRootInfo& root_info();
  /// How many barriers under test this rank has entered.
  std::atomic<uint64_t>& entered(uint32_t rank);

  void tell(uint32_t rank, const Row& row);
  // By rank 0.
  void tell(const Creation& row);
  void tell(const Comparison& comparison);
  void tell(const Standing& standing);
  void tell(const Progress& progress);
  /// This rank is through. Not collective.
  void finish(uint32_t rank);
  /// Reports the failure and ends this process.
  [[noreturn]] void fail(uint32_t rank, std::string_view text);

  // For the supervisor.

  /// Readable when there is a message.
  int messages() const { return pipe_.read.get(); }
  bool next_message(Message* message);
  [[nodiscard]] bool is_through(uint32_t rank) const;

 private:
  struct Shared;
  struct Slot;
  [[nodiscard]] Slot& slot(uint32_t rank) const;
  void send(const Message& message);

  uint32_t ranks_;
  Shared* shared_;
  size_t bytes_;
  Pipe pipe_;
};

}  // namespace weft::tools
