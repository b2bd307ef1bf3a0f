/* SPDX-License-Identifier: Apache-2.0
 * What weft tells beside the HCCL API: how the last call of a communicator was carried out. C99,
 * libhccl.so. */
#ifndef WEFT_COMM_H_
#define WEFT_COMM_H_

#include "hccl/hccl_types.h"
#include "weft/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_call_info {
  weft_head head;      /* fill with WEFT_HEAD(weft_call_info) before the call */
  char algorithm[64];  /* "mesh.two_shot"; "copy" for a single rank */
  char source[256];    /* what chose it: "/etc/weft/policy.toml:12", "HCCL_ALGO level0:ring" */
  uint32_t pieces;     /* the call was cut into so many pieces because Scratch is smaller */
  uint32_t staged_in;  /* 1: the input was copied into memory that peers can see first */
  uint32_t staged_out; /* 1: the output was copied out of such memory at the end */
  uint32_t reserved;
} weft_call_info;

/* The last operator issued on this communicator by this rank. Local, does not block; call it
 * between operators. HCCL_E_PTR: a null argument; HCCL_E_PARA: no such communicator;
 * HCCL_E_NOT_FOUND: no operator yet. */
HcclResult weft_comm_last_call(HcclComm comm, weft_call_info* info);

/* The text of the calling thread's last error of an HCCL or weft function, "" if there was none;
 * valid until the next one. The same text goes to aclGetRecentErrMsg() where a runtime is loaded.
 */
const char* weft_last_error(void);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_COMM_H_ */
