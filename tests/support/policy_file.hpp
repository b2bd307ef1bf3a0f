// SPDX-License-Identifier: Apache-2.0
// Folders and policy files that live as long as a test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace weft::test {

/// An empty folder, removed with all that is in it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int owner_;  // forked children do not remove it
};

void write_file(const std::filesystem::path& file, const std::string& text);
std::string read_file(const std::filesystem::path& file);

/// The tests run a second time with the tasks engine: WEFT_TEST_ENGINE says so, and WEFT_POLICY
/// names a policy that asks for it.
bool runs_as_tasks();

/// A policy with one rule for each operation: of the mesh plugin, or what `use` says; the engine of
/// this run; then `rest`.
std::string policy_text(const std::map<std::string, std::string>& use = {},
                        const std::string& rest = "");

/// A policy file in a folder of its own.
class PolicyFile {
 public:
  explicit PolicyFile(const std::string& text) { write(text); }

  void write(const std::string& text) const { write_file(path(), text); }
  std::string path() const { return folder_.path() / "policy.toml"; }
  /// For GroupOptions::environment.
  std::map<std::string, std::string> environment() const { return {{"WEFT_POLICY", path()}}; }

 private:
  Folder folder_;
};

}  // namespace weft::test
