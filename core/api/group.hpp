// SPDX-License-Identifier: Apache-2.0
// Groups: what a thread calls between HcclGroupStart and the outermost HcclGroupEnd is kept and
// carried out at the end. All state is the calling thread's.
#pragma once

#include <cstdint>
#include <functional>

#include "comm/message.hpp"
#include "hccl/hccl_types.h"

namespace weft::api {

/// How deep the calling thread is in groups.
[[gnu::tls_model("initial-exec")]] inline constinit thread_local uint32_t group_depth = 0;

[[nodiscard]] inline bool in_group() noexcept { return group_depth > 0; }

/// What a group needs to know of a queued operator.
struct Operator {
  const char* function = "";
  HcclComm comm = nullptr;
  void* stream = nullptr;
  uint64_t bytes = 0;        // of one block: long calls are issued first
  bool has_lengths = false;  // such operators come last, in the order of the calls
};

// All of these keep something for the end of the group. They throw Error (HCCL_E_PARA) if the group
// mixes communicator management with operators.

/// `run` checks the rest and issues the operator.
void queue(const Operator& what, std::function<void()> run);

/// A send or receive: all of a communicator become one batch on the stream of the first.
void queue(const Operator& what, const comm::Message& message);

/// A job of communicator management: at the end each runs on a thread of its own.
void queue_job(const char* function, std::function<void()> run);

}  // namespace weft::api
