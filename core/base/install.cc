// SPDX-License-Identifier: Apache-2.0
#include "base/install.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <string>
#include <system_error>

#include "base/error.hpp"

namespace weft {
namespace {

// The file that holds this function: libhccl.so, or the program that core is linked into.
std::filesystem::path own_file() {
  Dl_info info{};
  void* map = nullptr;
  if (dladdr1(reinterpret_cast<const void*>(&own_file), &info, &map, RTLD_DL_LINKMAP) == 0 ||
      map == nullptr) {
    return {};
  }
  const char* name = static_cast<const link_map*>(map)->l_name;
  // The program itself has an empty name here; info.dli_fname would be argv[0], which need not be a
  // path.
  return name == nullptr || *name == '\0' ? "/proc/self/exe" : name;
}

std::filesystem::path from_environment(const char* home) {
  std::error_code error;
  auto prefix = std::filesystem::canonical(home, error);
  if (error || !std::filesystem::is_directory(prefix, error)) {
    throw Error(HCCL_E_NOT_FOUND, std::string("WEFT_HOME=") + home +
                                      " is not a folder: set it to the root of a weft "
                                      "installation or unset it");
  }
  return prefix;
}

}  // namespace

std::filesystem::path install_prefix() {
  const char* home = std::getenv("WEFT_HOME");
  if (home != nullptr && *home != '\0') return from_environment(home);
  std::error_code error;
  const auto file = std::filesystem::canonical(own_file(), error);
  if (error) {
    throw Error(HCCL_E_NOT_FOUND, "cannot tell where weft is installed (" + own_file().string() +
                                      ": " + error.message() + "): set WEFT_HOME");
  }
  return file.parent_path().parent_path();
}

}  // namespace weft
