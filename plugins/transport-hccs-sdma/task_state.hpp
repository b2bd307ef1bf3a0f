// SPDX-License-Identifier: Apache-2.0
// What an endpoint of the tasks engine owns: memory that peers reach, flags (notifies), marks
// (events) and streams. Made with public functions of ACL only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl_rt.h"
#include "context.hpp"
#include "weft/transport.h"

namespace weft::hccs {

class TaskState {
 public:
  TaskState(Context& context, const weft_endpoint_params& params);
  ~TaskState();
  TaskState(const TaskState&) = delete;
  TaskState& operator=(const TaskState&) = delete;

  /// Makes the flags that this rank waits for. On failure the destructor gives back what there is.
  int32_t open();

  int32_t share(uint64_t bytes, void** address);
  int32_t describe(void* bytes, uint64_t* length);
  /// `imported` takes the keys of memory that stays mapped. Sets all_local of `info` to 0 if a rank
  /// is elsewhere.
  int32_t connect_peer(uint32_t rank, const void* blob, uint64_t length, weft_peer_view* view,
                       std::vector<std::string>& imported, weft_endpoint_info* info);

  int32_t new_stream(void** stream);
  int32_t copy(void* stream, void* dst, const void* src, uint64_t bytes, uint32_t place) const;
  int32_t reduce(void* stream, void* dst, const void* src, uint64_t count, int32_t type,
                 int32_t op) const;
  int32_t record(void* stream, uint32_t peer, uint32_t index) const;
  int32_t wait(void* stream, uint32_t peer, uint32_t index, uint32_t seconds) const;
  int32_t mark(void* stream, uint32_t mark);
  int32_t follow(void* stream, uint32_t mark) const;
  [[nodiscard]] bool passed(uint32_t mark) const;
  int32_t abort(void* stream) const;

 private:
  [[nodiscard]] size_t flag(uint32_t peer, uint32_t index) const {
    return size_t{peer} * params_.flags + index;
  }
  /// 0, or a WEFT_E_* code with the reason told.
  int32_t check(aclError error, const char* what) const;
  int32_t export_flag(aclrtNotify notify, char* key) const;
  int32_t export_memory();

  Context& context_;
  const weft_endpoint_params params_;
  void* shared_ = nullptr;
  uint64_t shared_bytes_ = 0;
  std::string memory_key_;
  uint64_t key_offset_ = 0;         // of the shared memory in what the key opens
  std::vector<aclrtNotify> own_;    // by peer and index: waited for here
  std::vector<aclrtNotify> peers_;  // recorded here, waited for by the peer
  std::vector<bool> imported_;      // by peer: its flags are imports, to be destroyed
  std::vector<aclrtEvent> marks_;   // made when first set
  std::vector<aclrtStream> streams_;
};

/// 1 if inline reduce does this.
int32_t inline_reduces(int32_t type, int32_t op);

extern const weft_tasks kTasksTable;

}  // namespace weft::hccs
