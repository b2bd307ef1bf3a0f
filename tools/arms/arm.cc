// SPDX-License-Identifier: Apache-2.0
#include "arms/arm.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "config/policy_text.hpp"
#include "weft/abi.h"

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

Arm arm_of(const config::Choice& choice) {
  Arm arm;
  arm.use = choice.algorithm->name;
  for (size_t i = 0; i < choice.algorithm->params.size(); ++i) {
    const plugin::Param& param = choice.algorithm->params[i];
    if (choice.params[i] == param.def) continue;
    arm.params.emplace_back(param.name, plugin::written(param, choice.params[i]));
  }
  return arm;
}

config::Rule rule_of(const Arm& arm, uint32_t op) {
  config::Rule rule;
  rule.op = op;
  rule.use = arm.use;
  for (const auto& [name, value] : arm.params) rule.params.push_back({name, value, {}});
  return rule;
}

std::string policy_of(const Arm& arm, uint32_t op, const config::Settings& base,
                      const plugin::Registry& registry) {
  config::Settings settings = base;
  settings.require_check = false;  // the algorithms that fill the rest are any
  std::string text = "schema = 1\n" + config::toml_of(settings);
  for (uint32_t each = 1; each < WEFT_OP_COUNT; ++each) {
    const auto& all = registry.algorithms();
    const auto any = std::find_if(all.begin(), all.end(), [each](const plugin::Algorithm& known) {
      return known.table.op == each;
    });
    if (each == op) {
      text += '\n' + config::toml_of(rule_of(arm, op));
    } else if (any != all.end()) {
      text += '\n' + config::toml_of(rule_of({any->name, {}}, each));
    }
  }
  try {
    config::Policy::parse(text, arm.text()).resolve(registry);
  } catch (const Error& error) {
    // The place in a file that nobody sees helps nobody.
    const std::string what = error.what();
    const size_t place = what.starts_with(arm.text() + ':') ? what.find(": ") : std::string::npos;
    throw UsageError(place == std::string::npos ? what : what.substr(place + 2));
  }
  return text;
}

}  // namespace weft::tools
