// SPDX-License-Identifier: Apache-2.0
#include "ab/arm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.hpp"
#include "base/op_names.hpp"

namespace weft::tools {
namespace {

std::pair<std::string, plugin::Written> parse_param(std::string_view text, std::string_view arm) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    throw UsageError(fmt::format("'{}' of '{}' is no name=value", text, arm));
  }
  return {std::string(text.substr(0, equals)), plugin::written(text.substr(equals + 1))};
}

/// As parse_param() reads it.
std::string word_of(const plugin::Written& value) {
  const std::string* name = std::get_if<std::string>(&value);
  return name != nullptr ? *name : plugin::value_text(value);
}

/// A string of TOML.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string settings_text(const config::Settings& settings) {
  std::string text = fmt::format("[transport]\nuse = {}\nengine = {}\n", quoted(settings.transport),
                                 quoted(settings.engine));
  if (!settings.plugin_paths.empty()) {
    std::vector<std::string> paths;
    for (const auto& path : settings.plugin_paths) paths.push_back(quoted(path.string()));
    text += fmt::format("\n[plugins]\npaths = [{}]\n", fmt::join(paths, ", "));
  }
  if (settings.memory_order) {
    std::vector<std::string> names;
    for (const std::string& name : *settings.memory_order) names.push_back(quoted(name));
    text += fmt::format("\n[memory]\norder = [{}]\n", fmt::join(names, ", "));
  }
  return text;
}

std::string rule_text(std::string_view op, const std::string& use) {
  return fmt::format("\n[[rule]]\nop = \"{}\"\n{}\n", op, use);
}

}  // namespace

std::string Arm::text() const {
  std::string text = use;
  for (const auto& [name, value] : params) text += fmt::format(":{}={}", name, word_of(value));
  return text;
}

Arm parse_arm(std::string_view text) {
  Arm arm;
  size_t at = text.find(':');
  arm.use = text.substr(0, at);
  if (arm.use.find('.') == std::string::npos) {
    throw UsageError(fmt::format("'{}' is no plugin.algorithm", text));
  }
  while (at != std::string_view::npos) {
    const size_t next = text.find(':', at + 1);
    arm.params.push_back(parse_param(text.substr(at + 1, next - at - 1), text));
    at = next;
  }
  return arm;
}

std::string use_lines(const Arm& arm) {
  std::string text = "use = " + quoted(arm.use);
  if (arm.params.empty()) return text;
  std::vector<std::string> params;
  for (const auto& [name, value] : arm.params)
    params.push_back(fmt::format("{} = {}", name, plugin::value_text(value)));
  return text + fmt::format("\nparams = {{ {} }}", fmt::join(params, ", "));
}

std::string policy_of(const Arm& arm, uint32_t op, const config::Settings& base,
                      const plugin::Registry& registry) {
  std::string text = "schema = 1\n\n" + settings_text(base);
  for (uint32_t each = 1; each < WEFT_OP_COUNT; ++each) {
    if (each == op) {
      text += rule_text(operation_name(op), use_lines(arm));
      continue;
    }
    const auto& all = registry.algorithms();
    const auto any = std::find_if(all.begin(), all.end(), [each](const plugin::Algorithm& known) {
      return known.table.op == each;
    });
    if (any != all.end()) text += rule_text(operation_name(each), use_lines({any->name, {}}));
  }
  try {
    config::Policy::parse(text, arm.text()).resolve(registry);
  } catch (const Error& error) {
    throw UsageError(error.what());
  }
  return text;
}

}  // namespace weft::tools
