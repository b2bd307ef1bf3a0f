// SPDX-License-Identifier: Apache-2.0
#include "finder.hpp"

#include <fmt/core.h>

#include <cstdio>

#include "base/error.hpp"
#include "config/policy.hpp"

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
  attempt([&] { registry_.load(plugin::default_folder()); });
  for (const fs::path& path : plugin::path_variable()) load(path);
  attempt([&] {
    const config::Policy policy = config::Policy::load(config::Policy::default_file());
    for (const fs::path& path : policy.settings().plugin_paths) load(path);
  });
}

}  // namespace weft::tools
