// SPDX-License-Identifier: Apache-2.0
#include "arms/policy_files.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "command.hpp"

namespace weft::tools {

namespace fs = std::filesystem;

PolicyFiles::PolicyFiles() {
  std::error_code none;
  const fs::path place = fs::temp_directory_path(none);
  if (none)
    throw Failure(fmt::format("there is no folder for temporary files: {}", none.message()));
  std::string form = (place / "weft-arms-XXXXXX").string();
  if (mkdtemp(form.data()) == nullptr) {
    throw Failure(fmt::format("cannot make a folder {}: {}", form, std::strerror(errno)));
  }
  folder_ = form;
}

PolicyFiles::~PolicyFiles() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string PolicyFiles::add(const std::string& name, const std::string& text) const {
  const fs::path file = folder_ / name;
  std::ofstream stream(file);
  stream << text;
  stream.close();
  if (!stream) throw Failure(fmt::format("cannot write {}", file.string()));
  return file.string();
}

}  // namespace weft::tools
