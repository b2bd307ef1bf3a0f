// SPDX-License-Identifier: Apache-2.0
#include "exec/task_queue.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "plugin/registry.hpp"

namespace weft::exec {

void TaskQueue::check(int32_t code) const {
  if (code != WEFT_OK) {
    throw Error(static_cast<HcclResult>(code),
                fmt::format("the call cannot be put on the stream: {}", plugin::take_failure()));
  }
  // Nothing may follow what was aborted meanwhile.
  if (const int32_t failure = tools_.watch.failure(); failure != 0) {
    throw Error(static_cast<HcclResult>(failure), tools_.watch.health_text());
  }
}

void TaskQueue::copy(void* dst, const void* src, uint64_t bytes, uint32_t place) {
  if (bytes == 0 || dst == src) return;
  check(tools_.table.copy(tools_.endpoint, stream_, dst, src, bytes, place));
}

void TaskQueue::reduce(void* dst, const void* src, uint64_t count, int32_t type, int32_t op) {
  if (count == 0) return;
  check(tools_.table.reduce(tools_.endpoint, stream_, dst, src, count, type, op));
}

void TaskQueue::record(uint32_t peer, uint32_t flag) {
  check(tools_.table.record(tools_.endpoint, stream_, peer, flag));
}

void TaskQueue::wait(uint32_t peer, uint32_t flag) {
  check(tools_.table.wait(tools_.endpoint, stream_, peer, flag, tools_.seconds));
}

void TaskQueue::mark(uint32_t mark) { check(tools_.table.mark(tools_.endpoint, stream_, mark)); }

void TaskQueue::follow(uint32_t mark) {
  check(tools_.table.follow(tools_.endpoint, stream_, mark));
}

}  // namespace weft::exec
