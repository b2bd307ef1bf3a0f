// SPDX-License-Identifier: Apache-2.0
#include "api/operators.hpp"

#include <fmt/format.h>

#include "api/handles.hpp"
#include "base/names.hpp"

namespace weft::api {

void require_all(std::initializer_list<Pointer> pointers) {
  for (const Pointer& p : pointers) {
    if (p.value == nullptr) throw Error(HCCL_E_PTR, fmt::format("{} is a null pointer", p.name));
  }
}

comm::Communicator& communicator(HcclComm handle) {
  comm::Communicator* found = find(handle);
  if (found == nullptr) {
    throw Error(HCCL_E_PARA, "comm is no communicator of this process (destroyed?)");
  }
  return *found;
}

void check_count(uint64_t count, const char* name) {
  if (count > kMaxCount) {
    throw Error(HCCL_E_PARA, fmt::format("{} is {}; at most {} elements", name, count, kMaxCount));
  }
}

void check_type(int type) {
  if (type_size(type) == 0) {
    throw Error(HCCL_E_NOT_SUPPORT, fmt::format("data type {} is unknown", type));
  }
}

void check_reduction(int type, int op) {
  check_type(type);
  if (op < HCCL_REDUCE_SUM || op > HCCL_REDUCE_MIN) {
    throw Error(HCCL_E_NOT_SUPPORT, fmt::format("reduce operation {} is unknown", op));
  }
  if (!reducible(type)) {
    throw Error(HCCL_E_NOT_SUPPORT,
                fmt::format("type {} can be moved but not reduced", type_name(type)));
  }
}

void check_rank(uint32_t rank, const char* name, const comm::Communicator& group) {
  if (rank < group.ranks()) return;
  throw Error(HCCL_E_PARA, fmt::format("{} is {}; the communicator has ranks 0..{}", name, rank,
                                       group.ranks() - 1));
}

void check_message(const comm::Message& message, const char* peer_name,
                   const comm::Communicator& group) {
  check_type(message.type);
  check_count(message.count, "count");
  check_rank(message.peer, peer_name, group);
}

comm::CallKey key(uint32_t op, uint64_t count, int type, int reduce_op, uint32_t root) {
  return {count,
          root,
          static_cast<uint8_t>(op),
          static_cast<uint8_t>(type),
          static_cast<uint8_t>(reduce_op),
          0};
}

}  // namespace weft::api
