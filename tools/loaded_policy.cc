// SPDX-License-Identifier: Apache-2.0
#include "loaded_policy.hpp"

#include <filesystem>
#include <utility>

namespace weft::tools {

LoadedPolicy read_policy(const std::string& file) {
  const std::string from = !file.empty()                ? "given"
                           : config::Policy::is_given() ? "WEFT_POLICY"
                                                        : "default";
  auto registry = std::make_unique<plugin::Registry>();
  registry->load(plugin::default_folder());
  config::Policy policy = config::Policy::load(file.empty() ? config::Policy::default_file()
                                                            : std::filesystem::path(file));
  for (const auto& path : plugin::path_variable()) registry->load(path);
  for (const auto& path : policy.settings().plugin_paths) registry->load(path);
  return {std::move(registry), std::move(policy), from};
}

LoadedPolicy load_policy(const std::string& file) {
  LoadedPolicy loaded = read_policy(file);
  loaded.policy.resolve(*loaded.registry);
  loaded.policy.check_engine(*loaded.registry);
  return loaded;
}

}  // namespace weft::tools
