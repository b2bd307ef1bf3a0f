// SPDX-License-Identifier: Apache-2.0
#include "api/side_by_side.hpp"

#include <system_error>
#include <thread>
#include <vector>

#include "api/handles.hpp"

namespace weft::api {

void run_side_by_side(size_t count, const std::function<void(size_t)>& body,
                      const std::function<void(size_t, const char*)>& missing) {
  const uint64_t caller = maker();
  std::vector<std::thread> threads;
  threads.reserve(count);
  try {
    for (size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        const MakesFor as(caller);
        body(i);
      });
    }
  } catch (const std::system_error& error) {
    for (size_t i = threads.size(); i < count; ++i) missing(i, error.what());
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace weft::api
