// SPDX-License-Identifier: Apache-2.0
#include "plugin/loader.hpp"

#include <dlfcn.h>

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/shared_library.hpp>
#include <exception>
#include <string>
#include <system_error>

namespace weft::plugin {
namespace {

namespace dll = boost::dll;

constexpr const char* kReturnConstant = "let it return the address of a constant and do no more";

std::string last_loader_error(const std::error_code& error) {
  const char* text = dlerror();
  return text != nullptr ? text : error.message();
}

dll::shared_library load_for_ever(const std::filesystem::path& file) {
  std::error_code error;
  // The loader would wait for ever on a pipe.
  if (!std::filesystem::is_regular_file(file, error)) {
    throw Refusal(error ? error.message() : "not a regular file", "P11",
                  "remove it, or build the plugin again");
  }
  // RTLD_NODELETE is not among Boost's names; the flags are those of dlopen.
  const auto mode = static_cast<dll::load_mode::type>(RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  dll::shared_library library;
  library.load(file, mode, error);
  if (error) {
    throw Refusal("cannot be loaded: " + last_loader_error(error), "P10",
                  "build it for this machine by weft_add_plugin(), with all that it needs");
  }
  return library;
}

}  // namespace

const weft_plugin_desc& open_plugin(const std::filesystem::path& absolute) {
  const dll::shared_library library = load_for_ever(absolute);
  if (!library.has(WEFT_PLUGIN_SYMBOL)) {
    throw Refusal("exports no symbol " WEFT_PLUGIN_SYMBOL ": not a weft plugin", "P1",
                  "declare it with WEFT_PLUGIN and build it by weft_add_plugin(), or remove it");
  }
  auto& describe = library.get<const weft_plugin_desc*()>(WEFT_PLUGIN_SYMBOL);
  const weft_plugin_desc* desc = nullptr;
  try {
    desc = describe();
  } catch (const std::exception& error) {
    throw Refusal(std::string(WEFT_PLUGIN_SYMBOL "() threw an exception: ") + error.what(), "P8",
                  kReturnConstant);
  } catch (...) {
    throw Refusal(WEFT_PLUGIN_SYMBOL "() threw an exception", "P8", kReturnConstant);
  }
  if (desc == nullptr) {
    throw Refusal(WEFT_PLUGIN_SYMBOL "() returned no descriptor", "P1", kReturnConstant);
  }
  return *desc;
}

}  // namespace weft::plugin
