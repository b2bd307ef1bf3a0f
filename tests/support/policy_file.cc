// SPDX-License-Identifier: Apache-2.0
#include "policy_file.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

namespace weft::test {

Folder::Folder() : owner_(getpid()) {
  std::string pattern = (std::filesystem::temp_directory_path() / "weft-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) std::abort();
  path_ = pattern;
}

Folder::~Folder() {
  std::error_code ignored;
  if (getpid() == owner_) std::filesystem::remove_all(path_, ignored);
}

void write_file(const std::filesystem::path& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << text;
  stream.close();
  if (!stream) std::abort();
}

std::string read_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string policy_text(const std::map<std::string, std::string>& use, const std::string& rest) {
  std::map<std::string, std::string> rules = {{"all_reduce", "mesh.two_shot"},
                                              {"reduce_scatter", "mesh.reduce_scatter"},
                                              {"all_gather", "mesh.all_gather"},
                                              {"all_to_all", "mesh.all_to_all"},
                                              {"broadcast", "mesh.broadcast"},
                                              {"barrier", "mesh.barrier"},
                                              {"reduce", "mesh.reduce"},
                                              {"scatter", "mesh.scatter"},
                                              {"all_gather_v", "mesh.all_gather_v"},
                                              {"reduce_scatter_v", "mesh.reduce_scatter_v"},
                                              {"all_to_all_v", "mesh.all_to_all_v"}};
  for (const auto& [op, algorithm] : use) rules[op] = algorithm;
  std::string text = "schema = 1\n";
  for (const auto& [op, algorithm] : rules) {
    text += "\n[[rule]]\nop = \"" + op + "\"\nuse = \"" + algorithm + "\"\n";
  }
  if (runs_as_tasks()) text += "\n[transport]\nengine = \"tasks\"\n";
  return text + "\n" + rest;
}

bool runs_as_tasks() {
  const char* engine = std::getenv("WEFT_TEST_ENGINE");
  return engine != nullptr && std::string(engine) == "tasks";
}

}  // namespace weft::test
