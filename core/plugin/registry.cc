// SPDX-License-Identifier: Apache-2.0
#include "plugin/registry.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "plugin/check.hpp"
#include "plugin/loader.hpp"

namespace weft::plugin {
namespace {

namespace fs = std::filesystem;

// The plugin files of a folder, in the order of their names: the same on every host.
std::vector<fs::path> plugin_files(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    if (at->path().extension() == ".so") files.push_back(at->path());
  }
  if (error) {
    throw Error(HCCL_E_OPEN_FILE_FAILURE,
                "cannot read the plugin folder " + folder.string() + ": " + error.message());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::string> engine_names(const weft_transport& table) {
  std::vector<std::string> names;
  if ((table.engines & WEFT_ENGINE_DIRECT) != 0) names.emplace_back("direct");
  if ((table.engines & WEFT_ENGINE_TASKS) != 0) names.emplace_back("tasks");
  return names;
}

std::vector<std::string> family_names(const weft_memory& table) {
  std::vector<std::string> names;
  if ((table.families & WEFT_MEMORY_WINDOWS) != 0) names.emplace_back("windows");
  if ((table.families & WEFT_MEMORY_RANGES) != 0) names.emplace_back("ranges");
  return names;
}

// What one file brings.
struct Loaded {
  std::vector<Algorithm> algorithms;
  std::vector<Transport> transports;
  std::vector<Memory> memories;
};

// Fills in what the file tells about itself, also when it is refused half-way.
Loaded read_plugin(Plugin& plugin) {
  const weft_plugin_desc desc = check_descriptor(open_plugin(plugin.path));
  plugin.name = desc.name;
  plugin.version = desc.version == nullptr ? "" : desc.version;
  plugin.summary = desc.summary == nullptr ? "" : desc.summary;
  plugin.kind = desc.kind;
  plugin.abi_major = desc.head.major;
  plugin.abi_minor = desc.head.minor;
  Loaded loaded;
  if (desc.kind == WEFT_KIND_ALGORITHMS) {
    loaded.algorithms = check_algorithms(desc);
    for (const Algorithm& each : loaded.algorithms) plugin.offers.push_back(each.name);
  } else if (desc.kind == WEFT_KIND_TRANSPORT) {
    loaded.transports.push_back(check_transport(desc));
    plugin.offers = engine_names(loaded.transports.front().table);
  } else {
    loaded.memories.push_back(check_memory(desc));
    plugin.offers = family_names(loaded.memories.front().table);
  }
  return loaded;
}

template <class Named>
const Named* find_by_name(const std::deque<Named>& all, std::string_view name) {
  for (const Named& each : all) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

}  // namespace

void Registry::load(const fs::path& folder_or_file) {
  std::error_code error;
  const fs::path path = fs::canonical(folder_or_file, error);
  if (error) {
    const bool hidden = error == std::errc::permission_denied;
    throw Error(HCCL_E_NOT_FOUND, (hidden ? "cannot look at the plugin file or folder "
                                          : "no plugin file or folder ") +
                                      folder_or_file.string() + ": " + error.message());
  }
  if (!fs::is_directory(path)) return load_file(path);
  for (const fs::path& file : plugin_files(path)) {
    const fs::path target = fs::canonical(file, error);  // fails for a link to nowhere
    load_file(error ? file : target);
  }
}

void Registry::load_file(const fs::path& file) {
  for (const Plugin& known : plugins_) {
    if (known.path == file) return;
  }
  Plugin plugin;
  plugin.path = file;
  Loaded loaded;
  try {
    loaded = read_plugin(plugin);
  } catch (const Refusal& refusal) {
    plugin.refusal = refusal.what();
    log::warn("plugin " + file.string() + " is not used: " + plugin.refusal);
    plugins_.push_back(std::move(plugin));
    return;
  }
  for (const Plugin& known : plugins_) {
    if (known.refusal.empty() && known.name == plugin.name) {
      throw Error(HCCL_E_PARA, "two plugins are named \"" + plugin.name +
                                   "\": " + known.path.string() + " and " + file.string() +
                                   " (ABI rule P12); remove one of them");
    }
  }
  plugins_.push_back(std::move(plugin));
  for (Algorithm& each : loaded.algorithms) algorithms_.push_back(std::move(each));
  for (Transport& each : loaded.transports) transports_.push_back(std::move(each));
  for (Memory& each : loaded.memories) memories_.push_back(std::move(each));
}

const Algorithm* Registry::find_algorithm(std::string_view full_name) const {
  return find_by_name(algorithms_, full_name);
}

const Transport* Registry::find_transport(std::string_view name) const {
  return find_by_name(transports_, name);
}

const Memory* Registry::find_memory(std::string_view name) const {
  return find_by_name(memories_, name);
}

}  // namespace weft::plugin
