// SPDX-License-Identifier: Apache-2.0
// The background thread that executes tasks of streams nobody synchronises.
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::acl {

enum WorkerState : uint32_t {
  kWorkerAbsent = 0,  ///< not started yet
  kWorkerAwake = 1,   ///< looks at the streams, at least every 50 us
  kWorkerDozing = 2,  ///< looks every 1 ms: streams are in use, but synchronisers attend to them
  kWorkerAsleep = 3,  ///< waits to be woken
};

extern constinit std::atomic<uint32_t> g_worker_state;

/// Starts or wakes the worker.
void wake_worker() noexcept;

/// Called after a task was published with a sequentially consistent store. Costs a system call only
/// if the worker sleeps, or dozes and the stream is not used by synchronising it.
inline void notify_worker(bool sync_style) noexcept {
  const uint32_t state = g_worker_state.load(std::memory_order_seq_cst);
  if (state == kWorkerAwake || (state == kWorkerDozing && sync_style)) return;
  wake_worker();
}

}  // namespace weft::acl
