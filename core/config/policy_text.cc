// SPDX-License-Identifier: Apache-2.0
#include "config/policy_text.hpp"

#include <fmt/format.h>

#include <vector>

#include "base/names.hpp"
#include "base/op_names.hpp"

namespace weft::config {
namespace {

std::string toml_list(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& each : texts) quoted.push_back(toml_string(each));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

/// One name, or a list of them.
std::string toml_names(const std::vector<std::string>& names) {
  return names.size() == 1 ? toml_string(names.front()) : toml_list(names);
}

std::vector<std::string> names_of(uint32_t bits, std::string_view (*name)(int) noexcept) {
  std::vector<std::string> names;
  for (int bit = 0; bit < 32; ++bit) {
    if ((bits >> bit & 1) != 0 && name(bit) != "unknown") names.emplace_back(name(bit));
  }
  return names;
}

std::string when_of(const Conditions& calls) {
  std::vector<std::string> keys;
  const auto add = [&](bool always, const char* key, const std::string& value) {
    if (!always) keys.push_back(fmt::format("{} = {}", key, value));
  };
  add(calls.bytes == Range{}, "bytes", toml_string(text_of_bytes(calls.bytes)));
  add(calls.ranks == kAnyRanks, "ranks", toml_string(text_of(calls.ranks, kAnyRanks)));
  add(calls.hosts == kAnyHosts, "hosts", toml_string(text_of(calls.hosts, kAnyHosts)));
  add(calls.ranks_per_host == kAnyPerHost, "ranks_per_host",
      toml_string(text_of(calls.ranks_per_host, kAnyPerHost)));
  add(calls.types == kAny, "type", toml_names(names_of(calls.types, type_name)));
  add(calls.reduce_ops == kAny, "reduce", toml_names(names_of(calls.reduce_ops, op_name)));
  add((calls.deterministic & 3) == 3, "deterministic",
      (calls.deterministic & 2) != 0 ? "true" : "false");
  add(calls.communicators.empty(), "communicator", toml_names(calls.communicators));
  return keys.empty() ? "" : fmt::format("when = {{ {} }}\n", fmt::join(keys, ", "));
}

}  // namespace

std::string toml_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      continue;
    }
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string toml_of(const Rule& rule) {
  std::string text = fmt::format("[[rule]]\nop = \"{}\"\n{}use = {}\n", operation_name(rule.op),
                                 when_of(rule), toml_string(rule.use));
  std::vector<std::string> params;
  for (const RuleParam& each : rule.params) {
    params.push_back(fmt::format("{} = {}", each.name, plugin::value_text(each.value)));
  }
  if (!params.empty()) text += fmt::format("params = {{ {} }}\n", fmt::join(params, ", "));
  return text;
}

std::string toml_of(const Settings& settings) {
  std::string text;
  if (!settings.plugin_paths.empty() || settings.require_check) {
    text += "\n[plugins]\n";
    std::vector<std::string> paths;
    for (const auto& path : settings.plugin_paths) paths.push_back(path.string());
    if (!paths.empty()) text += fmt::format("path = {}\n", toml_list(paths));
    if (settings.require_check) text += "require_check = true\n";
  }
  text += fmt::format("\n[transport]\nuse = {}\nengine = {}\n", toml_string(settings.transport),
                      toml_string(settings.engine));
  if (settings.memory_order) {
    text += fmt::format("\n[memory]\norder = {}\n", toml_list(*settings.memory_order));
  }
  if (settings.connect_timeout || settings.exec_timeout) {
    text += "\n[control]\n";
    const auto add = [&](const char* key, const std::optional<std::chrono::milliseconds>& time) {
      if (time) text += fmt::format("{} = {}\n", key, toml_string(text_of(*time)));
    };
    add("connect_timeout", settings.connect_timeout);
    add("exec_timeout", settings.exec_timeout);
  }
  return text;
}

}  // namespace weft::config
