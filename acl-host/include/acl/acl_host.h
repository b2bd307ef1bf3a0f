// SPDX-License-Identifier: Apache-2.0
// What the host implementation of the ACL runtime offers beyond the ACL interface, for transports
// that work on device memory with the host's CPU.
#ifndef ACL_ACL_HOST_H
#define ACL_ACL_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Result of a resumable task: ACLHOST_DONE, ACLHOST_AGAIN, or a positive aclError that becomes the
 * stream's fault. */
enum { ACLHOST_DONE = 0, ACLHOST_AGAIN = -1 };

/* Flags of a task. ACLHOST_BRIEF: one step takes no longer than a thread of the runtime needs to
 * come for it, some 50 us; if the stream is idle the launching thread may do the first one. */
enum { ACLHOST_BRIEF = 1 };

/* One step of a task. It must not block for long and must not call functions that wait. When it
 * has to wait for something it returns ACLHOST_AGAIN and is called again later. */
typedef int32_t (*aclhostTask)(void* arg);

/* Told, instead of any further call of the task, that the task is dropped. */
typedef void (*aclhostDiscard)(void* arg);

/* Does what a task of a group can do before its turn, without waiting. */
typedef void (*aclhostBegin)(void* arg);

/* Queues a task on a stream of the current context; NULL is the context's default stream. `flags`:
 * 0 or ACLHOST_BRIEF, any other bit is refused. `task` is called with `arg` until the result is not
 * ACLHOST_AGAIN: on any thread, never concurrently for one stream. Before it returns a fault it may
 * set the fault's text with aclhostSetErrorText; the thread that later synchronises the stream gets
 * code and text.
 *
 * A task is dropped if its stream is destroyed by force, or has stopped at the fault of an earlier
 * task; it may have begun and answered ACLHOST_AGAIN. Then `discard`, which may be NULL, is called
 * once with `arg`, and `task` no more: either `task` answers something else than ACLHOST_AGAIN, or
 * `discard` is called, never both. It runs on any thread, under the same rules as `task`. Neither
 * is called if the launch itself fails. `arg` stays the caller's. */
ACL_FUNC_VISIBILITY aclError aclhostLaunchTask(aclrtStream stream, aclhostTask task,
                                               aclhostDiscard discard, void* arg, uint32_t flags);

/* The same for a brief task of a group, which is any address that is not NULL. If all tasks ahead
 * of it in the stream are of that group, the launching thread may call `begin` with `arg`, once,
 * under the same rules as `task` and before it: their order is the group's business. */
ACL_FUNC_VISIBILITY aclError aclhostLaunchGroupTask(aclrtStream stream, aclhostTask task,
                                                    aclhostBegin begin, aclhostDiscard discard,
                                                    void* arg, const void* group);

/* Range of a device's memory in this process; created if it does not exist yet. Every pointer
 * from aclrtMalloc on the device lies in it, and any page-aligned part of it, or all of it, may be
 * exported with aclrtIpcMemGetExportKey. */
ACL_FUNC_VISIBILITY aclError aclhostGetHeap(int32_t deviceId, void** base, size_t* size);

/* Adds a text to what aclGetRecentErrMsg returns on the calling thread. The text is copied. */
ACL_FUNC_VISIBILITY void aclhostSetErrorText(const char* text);

#ifdef __cplusplus
}
#endif

#endif /* ACL_ACL_HOST_H */
