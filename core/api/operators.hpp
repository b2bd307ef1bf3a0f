// SPDX-License-Identifier: Apache-2.0
// What the operators of the C API share: the checks of their arguments and the way to a
// communicator, at once or at the end of a group.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "api/group.hpp"
#include "api/guard.hpp"
#include "api/handles.hpp"
#include "base/names.hpp"
#include "comm/communicator.hpp"
#include "hccl/hccl_types.h"

namespace weft::api {

inline constexpr uint64_t kMaxCount = 0x7FFFFFFFF;  // 2^35 - 1 elements

struct Pointer {
  const char* name;
  const void* value;
};

// What the checks throw, kept out of their way.
[[noreturn]] void refuse_null(const char* name);
[[noreturn]] void refuse_count(uint64_t count, const char* name);
[[noreturn]] void refuse_reduction(int type, int op);
[[noreturn]] void refuse_rank(uint32_t rank, const char* name, const comm::Communicator& group);

// All of them throw Error with the code of the API and a text that names the argument.

inline void require(bool condition, HcclResult code, const char* what) {
  if (!condition) throw Error(code, what);
}
/// HCCL_E_PTR for the first null pointer.
inline void require_all(std::initializer_list<Pointer> pointers) {
  for (const Pointer& p : pointers) {
    if (p.value == nullptr) refuse_null(p.name);
  }
}
/// Waits for the ranks of a new sub communicator.
inline comm::Communicator& communicator(HcclComm handle) {
  comm::Communicator* found = find(handle);
  return found == nullptr ? await(handle) : *found;
}
/// The communicator of a handle while an operator is issued on it. As long as it lives, that is not
/// destroyed. Operators of one communicator come one after another.
class InUse {
 public:
  /// As communicator(). Waits, too, while another thread tries to destroy it.
  explicit InUse(HcclComm handle) : mark_(handle), communicator_(enter(handle)) {}
  [[nodiscard]] comm::Communicator& operator*() const noexcept { return communicator_; }

 private:
  class Mark {
   public:
    explicit Mark(HcclComm handle) : slot_(slot_of(handle)) {
      if (slot_ == nullptr) refuse_handle();
      slot_->operators.store(count() + 1, std::memory_order_relaxed);
      // That others see this before the slot is looked into is the work of who empties it, for they
      // do it rarely.
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    ~Mark() { slot_->operators.store(count() - 1, std::memory_order_release); }
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;

   private:
    [[nodiscard]] uint32_t count() const noexcept {
      return slot_->operators.load(std::memory_order_relaxed);
    }
    Slot* const slot_;
  };

  static comm::Communicator& enter(HcclComm handle) {
    comm::Communicator* found = find(handle);
    return found == nullptr ? await(handle, slot_of(handle)) : *found;
  }

  const Mark mark_;
  comm::Communicator& communicator_;
};

inline void check_count(uint64_t count, const char* name) {
  if (count > kMaxCount) refuse_count(count, name);
}
void check_type(int type);
inline void check_reduction(int type, int op) {
  if (!reducible(type) || op < HCCL_REDUCE_SUM || op > HCCL_REDUCE_MIN) refuse_reduction(type, op);
}
/// HCCL_E_PARA if there is no such rank; `name` is "root" or that of the peer.
inline void check_rank(uint32_t rank, const char* name, const comm::Communicator& group) {
  if (rank >= group.ranks()) refuse_rank(rank, name, group);
}

/// Type, count and peer of a send or receive, in this order.
void check_message(const comm::Message& message, const char* peer_name,
                   const comm::Communicator& group);

constexpr comm::CallKey key(uint32_t op, uint64_t count, int type, int reduce_op = 0,
                            uint32_t root = 0) noexcept {
  return {count,
          root,
          static_cast<uint8_t>(op),
          static_cast<uint8_t>(type),
          static_cast<uint8_t>(reduce_op),
          0};
}

/// Does `run` now, or when the group of this thread ends.
template <class Run>
HcclResult perform(const Operator& what, Run&& run) {
  if (in_group()) {
    queue(what, std::forward<Run>(run));
  } else {
    run();
  }
  return HCCL_SUCCESS;
}

}  // namespace weft::api
