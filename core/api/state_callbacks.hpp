// SPDX-License-Identifier: Apache-2.0
// The callbacks of HcclCommRegCommStateCallback, and the changes that they are told of.
#pragma once

#include <chrono>

#include "hccl/hccl_types.h"

namespace weft::api {

/// One change of a communicator's state. While it lives, another one of the same communicator waits
/// for its end; from one of its callbacks it is refused, as nothing may destroy what it destroys.
class StateChange {
 public:
  /// Longer than a change waits for calls to end (handles.hpp), twice. A callback may wait for the
  /// thread that waits here.
  static constexpr std::chrono::milliseconds kPatience{10'000};

  /// Throws Error (HCCL_E_AGAIN).
  explicit StateChange(HcclComm comm, std::chrono::milliseconds patience = kPatience);
  ~StateChange();
  StateChange(const StateChange&) = delete;
  StateChange& operator=(const StateChange&) = delete;

  /// Calls all callbacks on this thread, in the order of their names, with no lock held. One that
  /// fails is logged; the change goes on.
  void tell(HcclCommStatePhase phase) const;

 private:
  const HcclComm comm_;
};

}  // namespace weft::api
