// SPDX-License-Identifier: Apache-2.0
// What the programs of all peers share, so that they are measured alike: the command line, the data
// and its check, a barrier in shared memory, the timing loop and the lines of output. The way of
// timing is that of `weft bench`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::peers {

enum class Op : uint8_t {
  kAllReduce,
  kReduceScatter,
  kReduce,
  kAllGather,
  kAllToAll,
  kBroadcast,
  kScatter
};

struct Options {
  Op op = Op::kAllReduce;
  std::string op_name;
  std::vector<uint64_t> sizes;   // bytes of the larger buffer of a rank
  uint32_t queue = 1;            // calls before the results are needed
  double min_time = 0.3;         // seconds of timed calls of a size
  unsigned timeout = 60;         // seconds for a size; then the program is ended by SIGALRM
  std::string team;              // file that the ranks map; it must be empty at first
  std::string store;             // folder for the rendezvous, if the peer needs one
  uint32_t ranks = 0;            // to start, if the program starts them itself
  bool busy_poll = false;        // Gloo: the persistent algorithms over pairs that poll
  bool thread_multiple = false;  // MPI: ask for MPI_THREAD_MULTIPLE
};

/// Ends the program with 2 and a message if the command line is wrong.
Options parse_options(int argc, char** argv);

/// One size on one rank. Elements are fp32, sums are asked for, rank 0 is the root.
struct Job {
  Op op;
  uint32_t rank;
  uint32_t ranks;
  uint64_t count;  // elements of a vector, or of a block of the operators that have blocks
  float* send;     // also the receive buffer of broadcast and of calls in place
  float* receive;
  std::vector<float*> others;  // more receive buffers, for calls that overlap
};

/// A library under test, on one rank. It ends the process if a call fails.
class Peer {
 public:
  virtual ~Peer() = default;
  /// Whether calls of this operator send and receive in one buffer.
  virtual bool in_place(Op) const { return false; }
  /// Whether call() can be replaced by overlapped().
  virtual bool overlaps() const { return false; }
  /// Comes before the calls of a size; the buffers of `job` stay until the next size.
  virtual void begin(const Job& job) = 0;
  /// One call, finished when it returns.
  virtual void call() = 0;
  /// Starts a call into job.receive and each of job.others, then waits for all of them.
  virtual void overlapped() {}
};

/// What the ranks of one run share. All calls are collective; they wait without a deadline, since a
/// run is ended by SIGALRM.
class Team {
 public:
  static constexpr uint32_t kMostRanks = 64;
  static constexpr uint64_t kMostBatches = 1024;

  /// Maps `file`, which is empty or has been mapped by another rank of this run.
  Team(const std::string& file, uint32_t rank, uint32_t ranks);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  /// Gives the processor away while it waits.
  void barrier();
  double largest(double value);
  uint64_t sum(uint64_t value);
  /// Seconds of a batch on a rank; those of others may be read after a barrier.
  double& batch_time(uint32_t rank, uint64_t batch);
  uint32_t rank() const { return rank_; }
  uint32_t ranks() const { return ranks_; }

 private:
  struct Shared;
  Shared* shared_;
  uint32_t rank_;
  uint32_t ranks_;
};

/// Measures and checks all sizes; rank 0 writes a line of JSON for each.
void measure(const Options& options, Team& team, Peer& peer);

/// The process ends with its parent, so that no rank survives a launcher that is killed.
void end_with_parent();

}  // namespace weft::peers
