// SPDX-License-Identifier: Apache-2.0
#include "loaded_policy.hpp"

#include <filesystem>
#include <utility>

namespace weft::tools {

std::vector<std::filesystem::path> plugin_places(const config::Policy* policy) {
  std::vector<std::filesystem::path> places = {plugin::default_folder()};
  for (const auto& path : plugin::path_variable()) places.push_back(path);
  if (policy == nullptr) return places;
  for (const auto& path : policy->settings().plugin_paths) places.push_back(path);
  return places;
}

LoadedPolicy read_policy(const std::string& file) {
  const std::string from = !file.empty()                ? "given"
                           : config::Policy::is_given() ? "WEFT_POLICY"
                                                        : "default";
  config::Policy policy =
      file.empty() ? config::Policy::load_default() : config::Policy::load(file);
  auto registry = std::make_unique<plugin::Registry>();
  for (const auto& place : plugin_places(&policy)) registry->load(place);
  return {std::move(registry), std::move(policy), from};
}

LoadedPolicy load_policy(const std::string& file) {
  LoadedPolicy loaded = read_policy(file);
  loaded.policy.resolve(*loaded.registry);
  loaded.policy.check_engine(*loaded.registry);
  return loaded;
}

}  // namespace weft::tools
