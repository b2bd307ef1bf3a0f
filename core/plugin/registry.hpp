// SPDX-License-Identifier: Apache-2.0
// The plugins of this process: found, checked against the ABI rules (docs/abi.md), copied into
// full-size tables, kept.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugin/param.hpp"
#include "weft/algorithm.h"
#include "weft/host.h"
#include "weft/memory.h"
#include "weft/transport.h"

namespace weft::plugin {

/// A plugin file that was found, loaded or not.
struct Plugin {
  std::string name;  // empty if the file never told
  std::string version;
  std::string summary;
  uint32_t kind = 0;  // WEFT_KIND_*
  uint16_t abi_major = 0;
  uint16_t abi_minor = 0;
  std::filesystem::path path;       // absolute
  std::string refusal;              // why it is not used, by which rule; empty if it is
  std::vector<std::string> offers;  // full names of algorithms, engines, or families
};

/// An algorithm that may be called: a full-size copy of the plugin's table.
struct Algorithm {
  std::string name;  // "plugin.algorithm"
  std::string summary;
  weft_algorithm table{};
  std::vector<Param> params;
};

/// A transport that may be called: a full-size copy; ABI 1.0 requires every entry.
struct Transport {
  std::string name;
  weft_transport table{};
  std::unique_ptr<weft_tasks> tasks;  // what table.tasks points to
};

/// A memory plugin that may be called: a full-size copy, with every entry of what it offers.
struct Memory {
  std::string name;
  weft_memory table{};
};

/// Loads and keeps. Files are never unloaded, so that entries stay valid for the life of the
/// process.
class Registry {
 public:
  /// Loads every *.so of a folder, or one file; a path already seen is skipped. A file that is no
  /// good plugin is kept in plugins() with the reason and logged as a warning. Throws Error
  /// (HCCL_E_PARA) for two plugins of one name (P12), naming both files, and HCCL_E_NOT_FOUND for a
  /// path that does not exist.
  void load(const std::filesystem::path& folder_or_file);

  [[nodiscard]] const std::deque<Plugin>& plugins() const { return plugins_; }
  [[nodiscard]] const std::deque<Algorithm>& algorithms() const { return algorithms_; }
  /// nullptr if there is none of this name.
  [[nodiscard]] const Algorithm* find_algorithm(std::string_view full_name) const;
  [[nodiscard]] const Transport* find_transport(std::string_view name) const;
  [[nodiscard]] const Memory* find_memory(std::string_view name) const;
  /// In the order of loading.
  [[nodiscard]] const std::deque<Memory>& memories() const { return memories_; }

 private:
  void load_file(const std::filesystem::path& file);

  std::deque<Plugin> plugins_;
  std::deque<Algorithm> algorithms_;
  std::deque<Transport> transports_;
  std::deque<Memory> memories_;
};

/// Services for plugins (P6).
[[nodiscard]] const weft_host& host() noexcept;
/// Takes the text that a plugin gave to host().fail on this thread; empty if none.
[[nodiscard]] std::string take_failure();

/// lib64/weft/plugins of install_prefix(): where plugins of this installation are.
[[nodiscard]] std::filesystem::path default_folder();
/// The files and folders that WEFT_PLUGIN_PATH names.
[[nodiscard]] std::vector<std::filesystem::path> path_variable();

}  // namespace weft::plugin
