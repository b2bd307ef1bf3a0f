// SPDX-License-Identifier: Apache-2.0
// `weft plugins`: lists the plugins that a program would find, and why some are refused.
#include <fmt/core.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/op_names.hpp"
#include "command.hpp"
#include "finder.hpp"
#include "options.hpp"
#include "plugin/registry.hpp"

namespace weft::tools {
namespace {

constexpr const char* kUsageLine = "weft plugins [options]";
constexpr const char* kAbout =
    R"(Lists the plugins that a program on this machine would load: those of the installation, of
WEFT_PLUGIN_PATH (folders or files, separated by ':') and of the policy's paths, as the library
itself loads them.

Exit code: 0 if all can be used; 1 if one is refused, or a path or the policy is wrong.)";

std::string_view kind_name(uint32_t kind) {
  switch (kind) {
    case WEFT_KIND_ALGORITHMS:
      return "algorithms";
    case WEFT_KIND_TRANSPORT:
      return "transport";
    case WEFT_KIND_MEMORY:
      return "memory";
    default:
      return "plugin";
  }
}

void print_algorithm(const plugin::Algorithm& algorithm) {
  const weft_algorithm& table = algorithm.table;
  std::string ranks = fmt::format("{} ranks or more", table.min_ranks);
  if (table.max_ranks != 0) ranks = fmt::format("{} to {} ranks", table.min_ranks, table.max_ranks);
  fmt::print("    {}: {}, {}{}{}{}\n      {}\n", algorithm.name, operation_name(table.op), ranks,
             (table.flags & WEFT_ALGORITHM_RANK_ORDER) != 0 ? ", in rank order" : "",
             (table.flags & WEFT_ALGORITHM_REMOTE_WRITE) != 0 ? ", writes to peers" : "",
             table.hccl_algo != nullptr ? fmt::format(", {} in HCCL_ALGO", table.hccl_algo) : "",
             algorithm.summary);
  for (const plugin::Param& param : algorithm.params) {
    fmt::print("      {} = {}, {}: {}\n        {}\n", param.name,
               plugin::value_text(param, param.def), plugin::type_name(param),
               plugin::range_text(param), param.help);
  }
}

std::string_view reach_text(uint32_t reach) {
  switch (reach) {
    case WEFT_REACH_PROCESS:
      return "ranks that are threads of one process";
    case WEFT_REACH_HOST:
      return "ranks of one host";
    case WEFT_REACH_HOSTS:
      return "ranks of several hosts";
    default:
      return "ranks that it does not tell of";
  }
}

std::string_view offer_text(std::string_view offer) {
  if (offer == "direct") return "the CPU moves the data";
  if (offer == "tasks") return "tasks on the stream move the data";
  if (offer == "windows") return "HcclCommSymWinRegister and what belongs to it, HcommMemAlloc";
  return "HcclCommSetMemoryRange and what belongs to it";
}

/// What a plugin of another kind than algorithms says about itself.
void print_other(const plugin::Plugin& found, const plugin::Registry& registry) {
  const plugin::Transport* transport = registry.find_transport(found.name);
  const plugin::Memory* memory = registry.find_memory(found.name);
  for (const std::string& offer : found.offers) {
    fmt::print("    {}: {}\n", offer, offer_text(offer));
  }
  const uint32_t reach = transport != nullptr ? transport->table.reach : memory->table.reach;
  fmt::print("  serves {}\n", reach_text(reach));
  if (transport != nullptr) {
    fmt::print("  chosen by [transport] use = \"{}\"\n", found.name);
  } else {
    fmt::print("  chosen by \"{}\" in [memory] order\n", found.name);
  }
}

void print_offers(const plugin::Plugin& found, const plugin::Registry& registry, bool verbose) {
  if (!verbose) {
    std::string all;
    for (const std::string& offer : found.offers) all += (all.empty() ? "" : " ") + offer;
    fmt::print("  offers {}\n", all.empty() ? "nothing" : all);
    return;
  }
  fmt::print("  {}\n  offers\n", found.summary);
  if (found.kind != WEFT_KIND_ALGORITHMS) return print_other(found, registry);
  for (const std::string& offer : found.offers) {
    print_algorithm(*registry.find_algorithm(offer));
  }
}

void print_plugin(const plugin::Plugin& found, const plugin::Registry& registry, bool verbose) {
  const std::string name = found.name.empty() ? found.path.filename().string() : found.name;
  if (!found.refusal.empty()) {
    fmt::print("{}: REFUSED\n  {}\n  {}\n", name, found.path.string(), found.refusal);
    return;
  }
  fmt::print("{} {}: {}, ABI {}.{}\n  {}\n", name, found.version, kind_name(found.kind),
             found.abi_major, found.abi_minor, found.path.string());
  print_offers(found, registry, verbose);
}

}  // namespace

int plugins_command(const Words& words) {
  bool verbose = false;
  std::vector<std::string> more;
  Options options(kUsageLine, kAbout);
  options.flag("verbose,v", "also what each plugin can do, and the parameters of algorithms",
               verbose);
  options.list("path", "PATH", "look in this folder, or at this file, too",
               [&](const std::string& path) { more.push_back(path); });
  if (!options.parse(words)) return kOk;
  if (!options.words().empty()) {
    throw UsageError(fmt::format("'{}' is one word too many", options.words()[0]));
  }
  // The list itself says what is wrong; WEFT_LOG still has the last word.
  setenv("WEFT_LOG", "error", 0);

  Finder finder("weft plugins");
  finder.load_usual_places();
  for (const std::string& path : more) finder.load(path);
  bool refused = false;
  for (const plugin::Plugin& found : finder.registry().plugins()) {
    print_plugin(found, finder.registry(), verbose);
    refused = refused || !found.refusal.empty();
  }
  if (finder.registry().plugins().empty()) fmt::print("no plugins found\n");
  return refused || finder.failed() ? kFailed : kOk;
}

}  // namespace weft::tools
