// SPDX-License-Identifier: Apache-2.0
// `weft new`: writes the beginnings of a plugin.
#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/install.hpp"
#include "command.hpp"
#include "finder.hpp"
#include "options.hpp"
#include "plugin/registry.hpp"

namespace weft::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsageLine = "weft new KIND NAME [options]";
constexpr const char* kAbout =
    R"(Writes a plugin NAME into the new folder NAME, to be changed into your own. KIND is

  algorithm   an all-reduce
  transport   ranks that are threads of one process
  memory      symmetric windows for threads of one process

Each is right as it stands. It is built outside of weft, against an installed one; what to do next
is printed. NAME is made of a-z, 0-9 and _; for an algorithm it is the first part of its full name.

Exit code: 0 if it was written, 1 if it could not be, 2 for a wrong command line.)";

constexpr const char* kNext = R"(wrote {1}/{0}.cc and {1}/CMakeLists.txt

Build it, and see that it is found (ASCEND_HOME_PATH: where weft is installed):
  cmake -S {1} -B {1}/build -DCMAKE_PREFIX_PATH="$ASCEND_HOME_PATH"
  cmake --build {1}/build
  WEFT_PLUGIN_PATH={1}/build weft plugins -v
)";
constexpr const char* kUseAlgorithm = R"(Prove it, or see how it is wrong:
  weft check {1}/build/{0}.so
To use it, name {0}.all_reduce in a rule of a policy: {2}.
)";
constexpr const char* kUseTransport = R"(To use it, write this into a policy ({2}):
  [transport]
  use = "{0}"
)";
constexpr const char* kUseMemory = R"(To use it, write this into a policy ({2}):
  [memory]
  order = ["{0}", "heap"]
)";

/// What can be made. The folder my_<name> of the installed examples is what is written.
struct Kind {
  std::string_view name;
  const char* use;
};
constexpr Kind kKinds[] = {
    {"algorithm", kUseAlgorithm}, {"transport", kUseTransport}, {"memory", kUseMemory}};

const Kind& kind_of(const std::string& word) {
  std::vector<std::string_view> names;
  for (const Kind& kind : kKinds) {
    if (kind.name == word) return kind;
    names.push_back(kind.name);
  }
  throw UsageError(
      fmt::format("'{}' is nothing that can be made{}", word, did_you_mean(word, names)));
}

void check_name(const std::string& name) {
  const bool good = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!good) throw UsageError(fmt::format("'{}' is no name: a-z, 0-9 and _ make one", name));
  Finder installed("weft new");
  installed.load(plugin::default_folder());
  for (const plugin::Plugin& each : installed.registry().plugins()) {
    if (each.name != name) continue;
    throw UsageError(
        fmt::format("a plugin of the installation is called '{}': {}; choose another "
                    "name",
                    name, each.path.string()));
  }
}

std::string read(const fs::path& file) {
  std::ifstream stream(file);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  if (!stream || text.empty()) {
    throw Failure(fmt::format("cannot read {}: is weft installed whole?", file.string()));
  }
  return text;
}

/// The text of an example with its name replaced, and without the line about weft's licence.
std::string adapted(const std::string& text, const std::string& from, const std::string& to) {
  std::string result;
  size_t at = text.find("SPDX") < text.find('\n') ? text.find('\n') + 1 : 0;
  for (size_t next = 0; (next = text.find(from, at)) != std::string::npos;
       at = next + from.size()) {
    result.append(text, at, next - at).append(to);
  }
  return result.append(text, at);
}

void write(const fs::path& file, const std::string& text) {
  std::ofstream stream(file);
  stream << text;
  stream.close();
  if (!stream) throw Failure(fmt::format("cannot write {}", file.string()));
}

/// All of it or nothing.
void create(const fs::path& folder, const Kind& kind, const std::string& name) {
  const std::string example = fmt::format("my_{}", kind.name);
  const fs::path from = install_prefix() / "share" / "weft" / "examples" / example;
  const std::string source = adapted(read(from / (example + ".cc")), example, name);
  const std::string build = adapted(read(from / "CMakeLists.txt"), example, name);
  std::error_code error;
  if (fs::exists(fs::symlink_status(folder, error))) {
    throw Failure(fmt::format("{} is there already; choose another --dir", folder.string()));
  }
  if (!fs::create_directory(folder, error)) {
    throw Failure(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
  }
  try {
    write(folder / (name + ".cc"), source);
    write(folder / "CMakeLists.txt", build);
  } catch (const Failure&) {
    fs::remove_all(folder, error);
    throw;
  }
}

}  // namespace

int new_command(const Words& words) {
  std::string folder;
  Options options(kUsageLine, kAbout);
  options.value("dir", "FOLDER", "to write into, which must not be there (NAME)",
                [&](const std::string& text) { folder = text; });
  if (!options.parse(words)) return kOk;
  const Words& given = options.words();
  if (given.empty()) throw UsageError("what? There are three kinds: algorithm, transport, memory");
  const Kind& kind = kind_of(given[0]);
  if (given.size() == 1) throw UsageError("what shall its plugin be called?");
  if (given.size() > 2) throw UsageError(fmt::format("'{}' is one word too many", given[2]));
  check_name(given[1]);
  if (folder.empty()) folder = given[1];
  create(folder, kind, given[1]);
  const fs::path page = install_prefix() / "share" / "doc" / "weft" / "policy.md";
  fmt::print(fmt::runtime(kNext), given[1], folder);
  fmt::print(fmt::runtime(kind.use), given[1], folder, page.string());
  return kOk;
}

}  // namespace weft::tools
