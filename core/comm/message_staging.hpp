// SPDX-License-Identifier: Apache-2.0
// Memory that peers can see, for messages whose data they cannot: one buffer per message on its
// way; some are kept for later ones.
#pragma once

#include <cstdint>
#include <vector>

#include "exec/messenger.hpp"
#include "weft/transport.h"

namespace weft::comm {

class MessageStaging {
 public:
  MessageStaging(const weft_transport& transport, void* endpoint)
      : transport_(transport), endpoint_(endpoint) {}
  ~MessageStaging();
  MessageStaging(const MessageStaging&) = delete;
  MessageStaging& operator=(const MessageStaging&) = delete;

  /// At least `bytes`, for this use of `task`. Throws Error (HCCL_E_OOM).
  void* get(uint64_t bytes, const exec::MessageTask& task);

 private:
  struct Buffer {
    void* address = nullptr;
    uint64_t bytes = 0;
    const exec::MessageTask* user = nullptr;
    uint64_t ticket = 0;  // of the use
  };
  void release_free(uint64_t kept, const exec::MessageTask& for_task);
  static bool is_free(const Buffer& buffer, const exec::MessageTask& for_task) noexcept;

  const weft_transport& transport_;
  void* const endpoint_;
  std::vector<Buffer> buffers_;
};

}  // namespace weft::comm
