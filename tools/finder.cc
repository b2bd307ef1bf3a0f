// SPDX-License-Identifier: Apache-2.0
#include "finder.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <optional>

#include "base/error.hpp"
#include "config/policy.hpp"
#include "loaded_policy.hpp"

namespace weft::tools {

namespace fs = std::filesystem;

template <typename Action>
void Finder::attempt(Action action) {
  try {
    action();
  } catch (const Error& error) {
    failed_ = true;
    fmt::print(stderr, "{}: {}\n", command_, error.what());
  }
}

void Finder::load(const fs::path& path) {
  attempt([&] { registry_.load(path); });
}

void Finder::load_usual_places() {
  std::optional<config::Policy> policy;
  attempt([&] { policy = config::Policy::load_default(); });
  for (const fs::path& path : plugin_places(policy ? &*policy : nullptr)) load(path);
}

}  // namespace weft::tools
