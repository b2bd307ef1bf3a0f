/* SPDX-License-Identifier: Apache-2.0
 * Services that the core gives to a plugin when it opens it (P6). C99. */
#ifndef WEFT_HOST_H_
#define WEFT_HOST_H_

#include "weft/abi.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { WEFT_LOG_DEBUG = 0, WEFT_LOG_INFO = 1, WEFT_LOG_WARN = 2, WEFT_LOG_ERROR = 3 };

typedef struct weft_host {
  weft_head head;
  /* Writes one log line; `text` is `length` bytes, borrowed for the call. Any thread; takes a lock.
   */
  void (*log)(int32_t level, const char* text, uint64_t length);
  /* Keeps the reason of a failure that the caller is about to return as a code; shown to the user
   * with the core's own context in front. Kept for the calling thread; borrowed for the call. */
  void (*fail)(const char* text, uint64_t length);
  /* Numbers that all plugins of the process share, because the runtime gives each out once only:
   * such as "shareable", the shareable handles of physical memory. `recall` is WEFT_E_NOT_FOUND if
   * nothing is remembered. Any thread; take a lock. `table` is borrowed for the call. */
  int32_t (*remember)(const char* table, uint64_t key, uint64_t value);
  int32_t (*recall)(const char* table, uint64_t key, uint64_t* value);
  void (*forget)(const char* table, uint64_t key);
} weft_host;

#ifdef __cplusplus
}
#endif

#endif /* WEFT_HOST_H_ */
