// SPDX-License-Identifier: Apache-2.0
// `weft new`: writes the beginnings of a plugin.
#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "command.hpp"
#include "options.hpp"

namespace weft::tools {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsageLine = "weft new algorithm NAME [options]";
constexpr const char* kAbout =
    R"(Writes a plugin NAME with one algorithm into the new folder NAME: an all-reduce that is right, to be
changed into your own. It is built outside of weft, against an installed one; what to do next is
printed. NAME is made of a-z, 0-9 and _, and is the first part of its algorithms' names.

Exit code: 0 if it was written, 1 if it could not be, 2 for a wrong command line.)";

constexpr const char* kSource = R"(#include "weft/sdk.hpp"

// Every rank sums its own piece of the vector, then collects the other pieces: 3 rounds.
static void all_reduce(const weft::Problem& p, weft::Schedule& s) {{
  // In and Out may be the same buffer, so peers read a copy.
  s.copy(p.scratch(0), p.in().all());
  s.signal(p.peers());
  s.wait(p.peers());

  const weft::Chunk mine = p.scratch(0).part_of(p.rank(), p.ranks());
  s.reduce(p.out()[p.rank()], p.everyone(mine));  // in rank order
  s.signal(p.peers());
  s.wait(p.peers());

  for (const uint32_t peer : p.peers()) s.copy(p.out()[peer], p.out().at(peer)[peer]);
  // The caller may write to Out as soon as I am done, so others must have read it.
  s.signal(p.peers());
  s.wait(p.peers());
}}

WEFT_ALGORITHM(all_reduce, .name = "all_reduce", .summary = "sum a piece, collect the rest; 3 rounds",
               .op = WEFT_OP_ALL_REDUCE, .flags = WEFT_ALGORITHM_RANK_ORDER);
WEFT_PLUGIN("{0}", "1.0.0", "my first plugin", WEFT_USE(all_reduce));
)";

constexpr const char* kBuild = R"(cmake_minimum_required(VERSION 3.25)
project({0} LANGUAGES CXX)
find_package(weft REQUIRED)
weft_add_plugin({0} SOURCES {0}.cc)
)";

constexpr const char* kNext = R"(wrote {1}/{0}.cc and {1}/CMakeLists.txt

Build it, and see that it is found (ASCEND_HOME_PATH: where weft is installed):
  cmake -S {1} -B {1}/build -DCMAKE_PREFIX_PATH="$ASCEND_HOME_PATH"
  cmake --build {1}/build
  WEFT_PLUGIN_PATH={1}/build weft plugins -v
Prove it, or see how it is wrong:
  weft check {1}/build/{0}.so
To use it, name {0}.all_reduce in a rule of a policy: docs/policy.md.
)";

void check_name(const std::string& name) {
  const bool good = !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!good) throw UsageError(fmt::format("'{}' is no name: a-z, 0-9 and _ make one", name));
}

void write(const fs::path& file, std::string_view form, const std::string& name) {
  std::ofstream stream(file);
  stream << fmt::format(fmt::runtime(form), name);
  stream.close();
  if (!stream) throw Failure(fmt::format("cannot write {}", file.string()));
}

/// All of it or nothing.
void create(const fs::path& folder, const std::string& name) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(folder, error))) {
    throw Failure(fmt::format("{} is there already; choose another --dir", folder.string()));
  }
  if (!fs::create_directory(folder, error)) {
    throw Failure(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
  }
  try {
    write(folder / (name + ".cc"), kSource, name);
    write(folder / "CMakeLists.txt", kBuild, name);
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
  if (given.empty()) throw UsageError("what? There is one thing: algorithm");
  constexpr std::string_view kKinds[] = {"algorithm"};
  if (given[0] != kKinds[0]) {
    throw UsageError(fmt::format("'{}' is nothing that can be made{}", given[0],
                                 did_you_mean(given[0], kKinds)));
  }
  if (given.size() == 1) throw UsageError("what shall its plugin be called?");
  if (given.size() > 2) throw UsageError(fmt::format("'{}' is one word too many", given[2]));
  check_name(given[1]);
  if (folder.empty()) folder = given[1];
  create(folder, given[1]);
  fmt::print(fmt::runtime(kNext), given[1], folder);
  return kOk;
}

}  // namespace weft::tools
