// SPDX-License-Identifier: Apache-2.0
// One call of an operator, with everything about it checked: result, inputs, gaps, guard bytes.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "parts.hpp"
#include "ranks.hpp"

namespace weft::test {

/// Puts one call on a stream. `arrays` is looked at by the V operators only.
HcclResult issue(const Case& c, const Arrays& arrays, const std::byte* send, std::byte* recv,
                 HcclComm comm, aclrtStream stream);

/// A case with its buffers, from before the call until after the synchronisation.
class Trial {
 public:
  Trial(const Case& c, uint32_t rank, uint32_t ranks, Arena& send, Arena& recv);

  void run(HcclComm comm, aclrtStream stream) const;
  /// Fails the rank if anything is not as it must be.
  void verify() const;

  /// What the call has for a result, in one number: of floats, whose bits may not differ.
  uint64_t digest() const;

 private:
  bool covered(const Part& input) const;
  void verify_part(const std::byte* data, const Part& good, const char* buffer) const;
  void verify_gaps(const std::byte* data, uint64_t size, std::vector<Part> parts,
                   const char* buffer) const;

  const Case case_;
  const size_t element_;
  const Arrays arrays_;
  const Buffers buffers_;
  Arena& send_arena_;
  Arena& recv_arena_;
  std::byte* send_ = nullptr;
  std::byte* recv_ = nullptr;
};

/// Runs cases one after the other, with arenas of every kind of memory.
class Runner {
 public:
  /// `capacity`: of the largest buffer, in bytes.
  Runner(Rank& rank, size_t capacity);

  /// Collective. Checks that `algorithm` did the work, unless there is one rank only.
  void run(HcclComm comm, const Case& c, const std::string& algorithm);
  /// The same, but that the result is checked to have the same bits on all ranks only.
  void run_and_compare(HcclComm comm, const Case& c, const std::string& algorithm);

 private:
  /// One that has been run.
  Trial trial_of(HcclComm comm, const Case& c, const std::string& algorithm);
  Arena& arena(std::map<Memory, std::unique_ptr<Arena>>& arenas, Memory kind) const;

  Rank& rank_;
  const size_t capacity_;
  Stream stream_;
  std::map<Memory, std::unique_ptr<Arena>> send_;
  std::map<Memory, std::unique_ptr<Arena>> recv_;
};

std::string comm_name(HcclComm comm);

/// One small call that all ranks make: the sum of an int32, 1 from each.
void expect_working(HcclComm comm, uint32_t ranks);

/// How a call ended that differs between ranks. The tasks engine tells the second rank at its
/// issue; on the first the runtime only knows that the stream was aborted, so what a later call
/// says counts.
aclError end_of(HcclResult issued, HcclComm comm, aclrtStream stream);

/// The algorithm that the last call on a communicator used, and into how many pieces it was cut.
struct CallFacts {
  std::string algorithm;
  std::string source;
  uint32_t pieces = 0;
  bool staged_in = false;
  bool staged_out = false;
};
CallFacts last_call(HcclComm comm);

}  // namespace weft::test
