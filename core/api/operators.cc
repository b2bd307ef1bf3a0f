// SPDX-License-Identifier: Apache-2.0
#include "api/operators.hpp"

#include <fmt/format.h>

namespace weft::api {

void refuse_null(const char* name) {
  throw Error(HCCL_E_PTR, fmt::format("{} is a null pointer", name));
}

void refuse_count(uint64_t count, const char* name) {
  throw Error(HCCL_E_PARA, fmt::format("{} is {}; at most {} elements", name, count, kMaxCount));
}

void check_type(int type) {
  if (type_size(type) == 0) {
    throw Error(HCCL_E_NOT_SUPPORT, fmt::format("data type {} is unknown", type));
  }
}

void refuse_reduction(int type, int op) {
  check_type(type);
  if (op < HCCL_REDUCE_SUM || op > HCCL_REDUCE_MIN) {
    throw Error(HCCL_E_NOT_SUPPORT, fmt::format("reduce operation {} is unknown", op));
  }
  throw Error(HCCL_E_NOT_SUPPORT,
              fmt::format("type {} can be moved but not reduced", type_name(type)));
}

void refuse_rank(uint32_t rank, const char* name, const comm::Communicator& group) {
  throw Error(HCCL_E_PARA, fmt::format("{} is {}; the communicator has ranks 0..{}", name, rank,
                                       group.ranks() - 1));
}

void check_message(const comm::Message& message, const char* peer_name,
                   const comm::Communicator& group) {
  check_type(message.type);
  check_count(message.count, "count");
  check_rank(message.peer, peer_name, group);
}

}  // namespace weft::api
