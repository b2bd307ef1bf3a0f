/* SPDX-License-Identifier: Apache-2.0 */
/* Reaching a peer's part of a symmetric window (see HcclCommSymWinRegister in hccl_comm.h). */
#ifndef HCCL_SYM_WIN_H_
#define HCCL_SYM_WIN_H_

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_rt.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * *ptr becomes the address of byte `offset` of rank peerRank's part of the window. It is good for
 * the host, for ACL copies and as an operator's buffer until the window is closed. Local, does not
 * block. HCCL_E_PTR for NULL; HCCL_E_PARA for an offset outside the window or an unknown rank.
 */
extern HcclResult HcclSymWinGetPeerPointer(HcclCommSymWindow winHandle, size_t offset,
                                           uint32_t peerRank, void** ptr);

#ifdef __cplusplus
}
#endif

#endif
