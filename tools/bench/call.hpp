// SPDX-License-Identifier: Apache-2.0
// Issues the operator under test.
#pragma once

#include <cstdint>

#include "acl/acl.h"
#include "bench/layout.hpp"
#include "bench/spec.hpp"
#include "hccl/hccl.h"

namespace weft::tools {

/// One call on one rank; the same for all calls of a size.
struct Call {
  const Spec& spec;
  const Shape& shape;
  const Layout& layout;
  uint32_t rank;
  void* send;
  void* receive;
  HcclComm comm;
  aclrtStream stream;
};

struct Issued {
  const char* function;  // the one that failed, if one did
  HcclResult result;
};

/// Puts the work on the stream; does not wait for it.
Issued issue(const Call& call);

}  // namespace weft::tools
