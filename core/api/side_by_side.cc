// SPDX-License-Identifier: Apache-2.0
#include "api/side_by_side.hpp"

#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "api/handles.hpp"
#include "base/shortage.hpp"

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
    const std::string why = explain_no_thread(error.code().value());
    for (size_t i = threads.size(); i < count; ++i) missing(i, why.c_str());
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace weft::api
