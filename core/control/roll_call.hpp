// SPDX-License-Identifier: Apache-2.0
// Who has joined, and whether the ranks fit together. No input or output: only the decisions and
// their texts.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/wire.hpp"

namespace weft::control {

/// "rank 3 (process 77 on host a)"
std::string describe_rank(std::uint32_t rank, const std::string& host, std::int32_t pid);

/// "rank 3", "ranks 0-2, 5"; sorted input.
std::string list_ranks(const std::vector<std::uint32_t>& ranks);

class RollCall {
 public:
  /// Takes a rank in, or says why this rank and those before it can never make a communicator.
  std::optional<Failure> add(HelloMessage message);

  bool complete() const noexcept { return !entries_.empty() && entries_.size() == ranks(); }
  /// What the ranks say the number of ranks is; 0 before the first.
  std::uint32_t ranks() const noexcept;
  std::string describe(std::uint32_t rank) const;

  /// Of a complete roll: in what the ranks differ that must be equal, or that their blobs are too
  /// large.
  std::optional<Failure> differences() const;
  /// Of an incomplete roll at the deadline.
  Failure missing(std::chrono::milliseconds waited) const;
  /// Of a complete roll; takes the blobs out of it.
  WelcomeMessage take_welcome();

 private:
  std::string difference(const std::string& what,
                         const std::map<std::uint32_t, std::string>&) const;

  std::map<std::uint32_t, HelloMessage> entries_;
};

}  // namespace weft::control
