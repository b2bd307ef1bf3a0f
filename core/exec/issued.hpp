// SPDX-License-Identifier: Apache-2.0
// Collectives in the order of issue, for the tasks engine: its streams look at no headers, so the
// threads that issue compare what they call.
#pragma once

#include <cstdint>

#include "comm/call.hpp"
#include "exec/watch.hpp"

namespace weft::exec {

class Issued {
 public:
  /// Both must outlive it.
  Issued(const Setup& setup, Watch& watch) : setup_(setup), watch_(watch) {}

  /// Writes down a call that is about to be issued. Of two ranks that differ in it the second one
  /// finds out, here, and tells the others; so it does for up to kIssued calls that one is ahead.
  /// Returns the failure, or 0.
  int32_t add(const comm::CallKey& key, uint32_t fingerprint) noexcept;

 private:
  int32_t differs(const comm::CallKey& key, uint32_t peer, const Record& theirs) noexcept;

  const Setup& setup_;
  Watch& watch_;
  uint64_t call_ = 0;
  uint32_t history_ = 0;  // hash of the fingerprints of all calls so far
};

}  // namespace weft::exec
