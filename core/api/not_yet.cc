// SPDX-License-Identifier: Apache-2.0
// The functions of the HCCL headers that have no implementation so far. A test holds this list and
// the table of docs/api.md equal.
#include "api/not_yet.hpp"

#include "api/export.hpp"
#include "api/guard.hpp"
#include "hccl/hccl.h"
#include "hccl/hccl_comm.h"

namespace weft::api {

HcclResult not_yet(const char* function) noexcept {
  return report(HCCL_E_NOT_SUPPORT, function,
                "not supported by this version; docs/api.md lists what is");
}

}  // namespace weft::api

#define WEFT_NOT_YET(name, ...) \
  extern "C" WEFT_API HcclResult name(__VA_ARGS__) { return weft::api::not_yet(#name); }

// hccl_comm.h
WEFT_NOT_YET(HcclCreateSubCommConfig, HcclComm*, uint32_t, uint32_t*, uint64_t, uint32_t,
             HcclCommConfig*, HcclComm*)
WEFT_NOT_YET(HcclCommGetHandleWithName, const char*, HcclComm*)
