// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/op_names.hpp"
#include "command.hpp"
#include "config/difference.hpp"
#include "config/environment.hpp"
#include "config/experiment.hpp"
#include "config/limits.hpp"
#include "config/rules.hpp"
#include "loaded_policy.hpp"
#include "policy/verbs.hpp"

namespace weft::tools {
namespace {

void line(std::string_view key, const std::string& value, const std::string& source) {
  fmt::print("  {:<24} {:<23} {}\n", key, value, source);
}

/// "/etc/weft/policy.toml:12", or "built in".
std::string written_at(const config::Policy& policy, std::string_view setting) {
  const auto place = policy.written_at(setting);
  return place ? fmt::format("{}:{}", policy.name(), place->line) : "built in";
}

/// The memory plugins as a communicator would order them, where the policy says nothing.
std::string all_memories(const plugin::Registry& registry) {
  std::string text;
  for (const bool windows : {true, false}) {
    for (const plugin::Memory& each : registry.memories()) {
      if (((each.table.families & WEFT_MEMORY_WINDOWS) != 0) == windows) text += each.name + ", ";
    }
  }
  return text + std::string(config::kHeap);
}

void print_limit(const config::Policy& policy, const char* setting, const config::Limit& limit) {
  const std::string source =
      limit.from == "policy" ? written_at(policy, setting) : std::string(limit.from);
  line(setting, limit.time.count() == 0 ? "none" : config::text_of(limit.time), source);
}

void print_settings(const LoadedPolicy& loaded, const config::Environment& environment) {
  const config::Policy& policy = loaded.policy;
  for (const config::SettingText& each : config::setting_texts(policy.settings())) {
    if (each.name.starts_with("control.")) continue;  // variables are stronger
    const bool memory = each.name == "memory.order" && each.value.empty();
    const std::string value = memory ? all_memories(*loaded.registry) : each.value;
    line(each.name, value.empty() ? "-" : value, written_at(policy, each.name));
  }
  print_limit(policy, "control.connect_timeout",
              config::connect_limit(environment, policy.settings()));
  print_limit(policy, "control.exec_timeout", config::exec_limit(environment, policy.settings()));
}

/// Where plugins come from, beside plugins.path.
void print_folders() {
  line("plugins", plugin::default_folder().string(), "installation");
  for (const auto& path : plugin::path_variable()) {
    line("plugins", path.string(), "WEFT_PLUGIN_PATH");
  }
}

/// What decides the algorithm of a call.
void print_order(const config::Environment& environment) {
  const std::string& wish = environment.algo.as_given;
  const uint32_t deterministic = environment.deterministic.value_or(0);
  fmt::print("what decides, from strong to weak\n");
  line("1. hcclAlgo", "-", "of each communicator's configuration");
  line("2. HCCL_ALGO", wish.empty() ? "-" : wish, wish.empty() ? "not set" : "environment");
  line("3. the experiments below", "", "the first that matches and all of whose arms can serve");
  line("4. the rules below", "", "the first that matches and whose algorithm can serve");
  line("deterministic", deterministic == 0 ? "no" : "yes",
       environment.deterministic ? "HCCL_DETERMINISTIC" : "built in; a configuration is stronger");
}

void print_experiments(const config::Policy& policy) {
  if (!policy.experiments().empty()) fmt::print("experiments\n");
  int number = 0;
  for (const config::Experiment& each : policy.experiments()) {
    fmt::print("  {}. {}, {} of {}: {} ({}:{})\n", ++number, each.name,
               operation_name(each.calls.op), config::text_of(each.calls), config::text_of(each),
               policy.name(), each.calls.place.line);
  }
}

void print_rules(const config::Policy& policy) {
  for (uint32_t op = 1; op < WEFT_OP_COUNT; ++op) {
    fmt::print("{}\n", operation_name(op));
    int number = 0;
    for (const config::Rule& rule : policy.rules()) {
      if (rule.op != op) continue;
      const config::Choice chosen{rule.algorithm, rule.values, "", &rule};
      fmt::print("  {}. {}: {} ({}:{})\n", ++number, config::text_of(rule), config::text_of(chosen),
                 policy.name(), rule.place.line);
    }
  }
}

}  // namespace

int show_policy(const std::string& file) {
  const LoadedPolicy loaded = load_policy(file);
  const config::Environment& environment = config::environment();
  const config::Policy& policy = loaded.policy;
  fmt::print("policy {}, {}, digest {}\n", policy.name(), loaded.from, policy.digest());
  fmt::print("settings\n");
  print_settings(loaded, environment);
  print_folders();
  print_order(environment);
  print_experiments(policy);
  print_rules(policy);
  return kOk;
}

}  // namespace weft::tools
