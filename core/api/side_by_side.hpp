// SPDX-License-Identifier: Apache-2.0
// Work of one call that waits for other work of it, as ranks for each other.
#pragma once

#include <cstddef>
#include <functional>

namespace weft::api {

/// Runs body(0) to body(count - 1), none of which throws, each on a thread of its own, and waits
/// for all of them. Handles that they make count as the calling thread's. For those that get no
/// thread, missing(index, why) is called before it waits.
void run_side_by_side(size_t count, const std::function<void(size_t)>& body,
                      const std::function<void(size_t, const char*)>& missing);

}  // namespace weft::api
