// SPDX-License-Identifier: Apache-2.0
// Memory that peers can see, for the user buffers that they cannot: the input is copied there
// before a call, the output from there after it. Calls of a communicator run one after another, so
// one buffer of each kind serves all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/transport.h"

namespace weft::comm {

class Staging {
 public:
  Staging(const weft_transport& transport, void* endpoint)
      : transport_(transport), endpoint_(endpoint) {}
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// At least `bytes`, for a call numbered `call` or later; `done` is the last completed call.
  /// Grows by doubling, keeps what it has. Throws Error (HCCL_E_OOM).
  void* in(uint64_t bytes, uint64_t call, uint64_t done) { return get(in_, bytes, call, done); }
  void* out(uint64_t bytes, uint64_t call, uint64_t done) { return get(out_, bytes, call, done); }

 private:
  struct Buffer {
    void* address = nullptr;
    uint64_t bytes = 0;
  };
  struct Retired {
    void* address;
    uint64_t free_after;  // last call that may use it
  };

  void* get(Buffer& buffer, uint64_t bytes, uint64_t call, uint64_t done);

  const weft_transport& transport_;
  void* const endpoint_;
  Buffer in_;
  Buffer out_;
  std::vector<Retired> retired_;
};

}  // namespace weft::comm
