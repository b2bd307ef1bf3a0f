// SPDX-License-Identifier: Apache-2.0
// The TOML form of the policy. The only file that knows toml++.

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <span>
#include <sstream>
#include <utility>

#include "base/names.hpp"
#include "base/op_names.hpp"
#include "config/complain.hpp"
#include "config/experiment.hpp"
#include "config/policy_file.hpp"
#include "config/policy_impl.hpp"
#include "config/rules.hpp"
#include "config/units.hpp"

namespace weft::config {

namespace {

using Word = std::string_view;

constexpr std::array<Word, 7> kTopKeys = {"schema",    "rule",   "experiment", "plugins",
                                          "transport", "memory", "control"};
constexpr std::array<Word, 4> kRuleKeys = {"op", "when", "use", "params"};
constexpr std::array<Word, 5> kExperimentKeys = {"name", "op", "when", "block", "arms"};
constexpr std::array<Word, 3> kArmKeys = {"use", "params", "weight"};
constexpr std::array<Word, 8> kWhenKeys = {"bytes", "ranks",  "hosts",         "ranks_per_host",
                                           "type",  "reduce", "deterministic", "communicator"};
constexpr std::array<Word, 2> kPluginKeys = {"path", "require_check"};
constexpr std::array<Word, 2> kTransportKeys = {"use", "engine"};
constexpr std::array<Word, 1> kMemoryKeys = {"order"};
constexpr size_t kMostName = 64;  // of an experiment: it is part of the names of files
constexpr std::array<Word, 2> kControlKeys = {"connect_timeout", "exec_timeout"};
constexpr std::array<Word, 2> kEngines = {"direct", "tasks"};
constexpr int64_t kSchema = 1;
constexpr Word kNameLetters = "abcdefghijklmnopqrstuvwxyz0123456789_-";

Place place_of(const toml::source_region& region) {
  return {std::max<uint32_t>(region.begin.line, 1), std::max<uint32_t>(region.begin.column, 1)};
}

std::string in_quotes(Word text) { return '"' + std::string(text) + '"'; }

// "a string", "an integer"
std::string kind_of(const toml::node& node) {
  std::ostringstream text;
  text << node.type();
  return (text.str().find_first_of("aeiou") == 0 ? "an " : "a ") + text.str();
}

bool is_name(Word text) {
  return !text.empty() && text.find_first_not_of(kNameLetters) == Word::npos;
}

// Reads the nodes of one file; every error carries its place.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  [[nodiscard]] Contents read(const toml::table& root) const;

 private:
  [[noreturn]] void fail(const toml::source_region& where, const std::string& what) const {
    complain(file_, place_of(where), what);
  }
  [[noreturn]] void wrong_kind(const toml::node& node, Word key, Word wanted) const {
    fail(node.source(),
         in_quotes(key) + " must be " + std::string(wanted) + ", not " + kind_of(node));
  }

  const toml::table& table(const toml::node& node, Word key, std::span<const Word> keys) const;
  const std::string& text(const toml::node& node, Word key) const;
  const std::string& name(const toml::node& node, Word key) const;
  uint32_t number(const toml::node& node, Word key, uint32_t most) const;
  template <class Parse>
  auto parsed(const toml::node& node, Word key, const std::string& written, Parse parse) const;
  template <class Parse>
  Range range(const toml::node& node, Word key, Parse parse) const;
  template <class Parse>
  uint32_t bit(const toml::node& node, Word key, Parse parse, std::span<const Word> known) const;
  template <class Parse>
  uint32_t bits(const toml::node& node, Word key, Parse parse, std::span<const Word> known) const;

  void read_schema(const toml::table& root) const;
  void read_plugins(const toml::node& node, Settings& settings) const;
  void read_transport(const toml::node& node, Settings& settings) const;
  void read_memory(const toml::node& node, Contents& contents) const;
  void read_control(const toml::node& node, Settings& settings) const;
  Rule read_rule(const toml::node& node) const;
  Experiment read_experiment(const toml::node& node) const;
  Arm read_arm(const toml::node& node, uint32_t op) const;
  uint32_t read_op(const toml::table& rule) const;
  void read_use(const toml::table& rule, Rule& out) const;
  void read_when(const toml::node& node, Rule& rule) const;
  std::vector<std::string> read_names(const toml::node& node) const;
  uint32_t read_types(const toml::node& node, uint32_t op) const;
  void read_params(const toml::node& node, Rule& rule) const;

  const std::string& file_;
};

const toml::table& Reader::table(const toml::node& node, Word key,
                                 std::span<const Word> keys) const {
  const toml::table* found = node.as_table();
  if (found == nullptr) wrong_kind(node, key, "a table");
  for (const auto& [name, value] : *found) {
    if (std::find(keys.begin(), keys.end(), name.str()) != keys.end()) continue;
    const std::string of = key.empty() ? "" : " in " + in_quotes(key);
    fail(name.source(), "unknown key " + in_quotes(name.str()) + of + suggestion(name.str(), keys));
  }
  return *found;
}

const std::string& Reader::text(const toml::node& node, Word key) const {
  const toml::value<std::string>* found = node.as_string();
  if (found == nullptr) wrong_kind(node, key, "a string");
  return found->get();
}

const std::string& Reader::name(const toml::node& node, Word key) const {
  const std::string& written = text(node, key);
  if (is_name(written)) return written;
  fail(node.source(), in_quotes(key) + " must be a name of a-z, 0-9, _ and -");
}

// 1 to `most`.
uint32_t Reader::number(const toml::node& node, Word key, uint32_t most) const {
  const toml::value<int64_t>* found = node.as_integer();
  if (found == nullptr) wrong_kind(node, key, "a whole number");
  if (found->get() >= 1 && found->get() <= most) return static_cast<uint32_t>(found->get());
  fail(node.source(), in_quotes(key) + " is " + std::to_string(found->get()) +
                          ", it must be 1 to " + std::to_string(most));
}

// What a node's text means; `parse` throws BadValue.
template <class Parse>
auto Reader::parsed(const toml::node& node, Word key, const std::string& written,
                    Parse parse) const {
  try {
    return parse(written);
  } catch (const BadValue& bad) {
    fail(node.source(), in_quotes(key) + ": " + bad.what());
  }
}

template <class Parse>
Range Reader::range(const toml::node& node, Word key, Parse parse) const {
  const toml::value<int64_t>* number = node.as_integer();
  if (number != nullptr) return parsed(node, key, std::to_string(number->get()), parse);
  if (!node.is_string()) wrong_kind(node, key, "a range like \"2..16\" or a whole number");
  return parsed(node, key, text(node, key), parse);
}

// One name as a bit; `parse` gives its number, if it has one.
template <class Parse>
uint32_t Reader::bit(const toml::node& node, Word key, Parse parse,
                     std::span<const Word> known) const {
  if (!node.is_string()) wrong_kind(node, key, "a name or a list of names");
  const std::string& written = text(node, key);
  if (const std::optional<int> number = parsed(node, key, written, parse)) return 1U << *number;
  fail(node.source(),
       "unknown " + std::string(key) + ' ' + in_quotes(written) + suggestion(written, known));
}

// One name or a list of names.
template <class Parse>
uint32_t Reader::bits(const toml::node& node, Word key, Parse parse,
                      std::span<const Word> known) const {
  const toml::array* list = node.as_array();
  if (list == nullptr) return bit(node, key, parse, known);
  if (list->empty()) fail(node.source(), in_quotes(key) + " is an empty list: leave it out");
  uint32_t all = 0;
  for (const toml::node& each : *list) {
    const uint32_t one = bit(each, key, parse, known);
    if ((all & one) != 0) fail(each.source(), in_quotes(text(each, key)) + " is there twice");
    all |= one;
  }
  return all;
}

void Reader::read_schema(const toml::table& root) const {
  const toml::node* schema = root.get("schema");
  if (schema == nullptr) complain(file_, {}, "no \"schema\": begin the file with \"schema = 1\"");
  const toml::value<int64_t>* number = schema->as_integer();
  if (number == nullptr) wrong_kind(*schema, "schema", "a whole number");
  if (number->get() == kSchema) return;
  fail(schema->source(), "schema " + std::to_string(number->get()) +
                             " is not known here: this library reads schema " +
                             std::to_string(kSchema));
}

void Reader::read_plugins(const toml::node& node, Settings& settings) const {
  const toml::table& keys = table(node, "plugins", kPluginKeys);
  if (const toml::node* check = keys.get("require_check")) {
    if (!check->is_boolean()) wrong_kind(*check, "require_check", "true or false");
    settings.require_check = check->as_boolean()->get();
  }
  const toml::node* path = keys.get("path");
  if (path == nullptr) return;
  const toml::array* list = path->as_array();
  if (list == nullptr) wrong_kind(*path, "path", "an array of strings");
  const std::filesystem::path here = std::filesystem::path(file_).parent_path();
  for (const toml::node& each : *list) {
    const std::string written = text(each, "path");
    if (written.empty()) fail(each.source(), "\"path\" has an empty entry");
    settings.plugin_paths.push_back(std::filesystem::absolute(here / written).lexically_normal());
  }
}

void Reader::read_transport(const toml::node& node, Settings& settings) const {
  const toml::table& keys = table(node, "transport", kTransportKeys);
  if (const toml::node* use = keys.get("use")) settings.transport = name(*use, "use");
  const toml::node* engine = keys.get("engine");
  if (engine == nullptr) return;
  settings.engine = text(*engine, "engine");
  if (std::find(kEngines.begin(), kEngines.end(), settings.engine) != kEngines.end()) return;
  fail(engine->source(),
       "unknown engine " + in_quotes(settings.engine) + suggestion(settings.engine, kEngines));
}

void Reader::read_memory(const toml::node& node, Contents& contents) const {
  const toml::node* order = table(node, "memory", kMemoryKeys).get("order");
  if (order == nullptr) return;
  const toml::array* list = order->as_array();
  if (list == nullptr) wrong_kind(*order, "order", "an array of strings");
  std::vector<std::string>& names = contents.settings.memory_order.emplace();
  for (const toml::node& each : *list) {
    const std::string& one = name(each, "order");
    if (std::find(names.begin(), names.end(), one) != names.end()) {
      fail(each.source(), in_quotes(one) + " is there twice");
    }
    names.push_back(one);
    contents.memory_places.push_back(place_of(each.source()));
  }
}

void Reader::read_control(const toml::node& node, Settings& settings) const {
  const toml::table& keys = table(node, "control", kControlKeys);
  if (const toml::node* limit = keys.get("connect_timeout")) {
    settings.connect_timeout =
        parsed(*limit, "connect_timeout", text(*limit, "connect_timeout"), parse_duration);
  }
  if (const toml::node* limit = keys.get("exec_timeout")) {
    settings.exec_timeout =
        parsed(*limit, "exec_timeout", text(*limit, "exec_timeout"), parse_duration);
  }
}

uint32_t Reader::read_op(const toml::table& rule) const {
  const toml::node* op = rule.get("op");
  if (op == nullptr) fail(rule.source(), "there is no \"op\" here");
  const std::string written = text(*op, "op");
  if (const auto number = parse_operation(written)) return *number;
  fail(op->source(),
       "unknown operation " + in_quotes(written) + suggestion(written, operation_names()));
}

void Reader::read_use(const toml::table& rule, Rule& out) const {
  const toml::node* use = rule.get("use");
  if (use == nullptr) fail(rule.source(), "there is no \"use\" here");
  out.use = text(*use, "use");
  out.use_place = place_of(use->source());
  const auto dot = out.use.find('.');
  if (dot == std::string::npos || !is_name(Word(out.use).substr(0, dot)) ||
      !is_name(Word(out.use).substr(dot + 1))) {
    fail(use->source(), "\"use\" must be \"plugin.algorithm\", not " + in_quotes(out.use));
  }
}

// A name or a list of names.
std::vector<std::string> Reader::read_names(const toml::node& node) const {
  std::vector<std::string> names;
  const auto add = [&](const toml::node& each) {
    if (!each.is_string()) wrong_kind(each, "communicator", "a name or a list of names");
    names.push_back(parsed(each, "communicator", text(each, "communicator"), parse_communicator));
    if (std::find(names.begin(), names.end() - 1, names.back()) != names.end() - 1) {
      fail(each.source(), in_quotes(names.back()) + " is there twice");
    }
  };
  const toml::array* list = node.as_array();
  if (list == nullptr) {
    add(node);
    return names;
  }
  if (list->empty()) fail(node.source(), "\"communicator\" is an empty list: leave it out");
  for (const toml::node& each : *list) add(each);
  return names;
}

uint32_t Reader::read_types(const toml::node& node, uint32_t op) const {
  const auto parse = [op](const std::string& written) {
    const std::optional<int> type = parse_type(written);
    if (type && is_reduction(op) && !reducible(*type)) {
      throw BadValue(in_quotes(written) + " cannot be reduced");
    }
    return type;
  };
  return bits(node, "type", parse, type_names());
}

void Reader::read_when(const toml::node& node, Rule& rule) const {
  // A key that is known, but of no use, has a reason of its own.
  if (const toml::table* all = node.as_table()) {
    for (const auto& [key, condition] : *all) {
      const std::string why = why_meaningless(key.str(), rule.op);
      if (!why.empty()) fail(key.source(), why);
    }
  }
  for (const auto& [key, condition] : table(node, "when", kWhenKeys)) {
    if (key.str() == "bytes") {
      rule.bytes = range(condition, "bytes", parse_bytes);
    } else if (key.str() == "ranks") {
      rule.ranks = range(condition, "ranks", parse_ranks);
    } else if (key.str() == "hosts") {
      rule.hosts = range(condition, "hosts", parse_hosts);
    } else if (key.str() == "ranks_per_host") {
      rule.ranks_per_host = range(condition, "ranks_per_host", parse_hosts);
    } else if (key.str() == "communicator") {
      rule.communicators = read_names(condition);
    } else if (key.str() == "type") {
      rule.types = read_types(condition, rule.op);
    } else if (key.str() == "reduce") {
      rule.reduce_ops = bits(condition, "reduce", parse_reduce_op, op_names());
    } else {
      const toml::value<bool>* asked = condition.as_boolean();
      if (asked == nullptr) wrong_kind(condition, "deterministic", "true or false");
      rule.deterministic = asked->get() ? 2 : 1;
    }
  }
}

void Reader::read_params(const toml::node& node, Rule& rule) const {
  const toml::table* params = node.as_table();
  if (params == nullptr) wrong_kind(node, "params", "a table");
  for (const auto& [key, param] : *params) {
    plugin::Written value;
    if (const auto* number = param.as_integer()) {
      value = number->get();
    } else if (const auto* truth = param.as_boolean()) {
      value = truth->get();
    } else if (const auto* name = param.as_string()) {
      value = name->get();
    } else {
      wrong_kind(param, key.str(), "a whole number, true or false, or a name");
    }
    rule.params.push_back({std::string(key.str()), value, place_of(key.source())});
  }
}

Rule Reader::read_rule(const toml::node& node) const {
  const toml::table& keys = table(node, "rule", kRuleKeys);
  Rule rule;
  rule.place = place_of(node.source());
  rule.op = read_op(keys);
  read_use(keys, rule);
  if (const toml::node* when = keys.get("when")) read_when(*when, rule);
  if (const toml::node* params = keys.get("params")) read_params(*params, rule);
  return rule;
}

Arm Reader::read_arm(const toml::node& node, uint32_t op) const {
  if (!node.is_table())
    wrong_kind(node, "arms", "an array of tables like { use = \"mesh.two_shot\" }");
  const toml::table& keys = table(node, "arms", kArmKeys);
  Arm arm;
  arm.rule.place = place_of(node.source());
  arm.rule.op = op;
  read_use(keys, arm.rule);
  if (const toml::node* params = keys.get("params")) read_params(*params, arm.rule);
  if (const toml::node* weight = keys.get("weight")) {
    arm.weight = number(*weight, "weight", kMostWeight - 1);
  }
  return arm;
}

Experiment Reader::read_experiment(const toml::node& node) const {
  const toml::table& keys = table(node, "experiment", kExperimentKeys);
  Experiment experiment;
  experiment.calls.place = place_of(node.source());
  const toml::node* given = keys.get("name");
  if (given == nullptr) fail(node.source(), "the experiment has no \"name\"");
  experiment.name = name(*given, "name");
  if (experiment.name.size() > kMostName) {
    fail(given->source(), "\"name\" has over " + std::to_string(kMostName) + " letters");
  }
  experiment.calls.op = read_op(keys);
  if (const toml::node* when = keys.get("when")) read_when(*when, experiment.calls);
  if (const toml::node* block = keys.get("block")) {
    experiment.block = number(*block, "block", kMostBlock);
  }
  const toml::node* arms = keys.get("arms");
  if (arms == nullptr) fail(node.source(), "the experiment has no \"arms\"");
  const toml::array* list = arms->as_array();
  if (list == nullptr) wrong_kind(*arms, "arms", "an array of tables");
  if (list->size() < kFewestArms || list->size() > kMostArms) {
    fail(arms->source(), "an experiment has " + std::to_string(kFewestArms) + " to " +
                             std::to_string(kMostArms) + " arms, not " +
                             std::to_string(list->size()));
  }
  uint32_t weights = 0;
  for (const toml::node& each : *list) {
    experiment.arms.push_back(read_arm(each, experiment.calls.op));
    weights += experiment.arms.back().weight;
  }
  if (weights <= kMostWeight) return experiment;
  fail(arms->source(), "the weights of the arms come to " + std::to_string(weights) +
                           ", they may come to " + std::to_string(kMostWeight));
}

Contents Reader::read(const toml::table& root) const {
  table(root, "", kTopKeys);
  read_schema(root);
  Contents policy;
  Faults faults;
  const auto part = [&](const char* name, const auto& read) {
    if (const toml::node* node = root.get(name)) faults.in([&] { read(*node); });
  };
  part("plugins", [&](const toml::node& node) { read_plugins(node, policy.settings); });
  part("transport", [&](const toml::node& node) { read_transport(node, policy.settings); });
  part("memory", [&](const toml::node& node) { read_memory(node, policy); });
  part("control", [&](const toml::node& node) { read_control(node, policy.settings); });
  for (const auto& [section, node] : root) {
    const std::string name(section.str());
    policy.places[name] = place_of(section.source());
    if (!node.is_table()) continue;
    for (const auto& [key, value] : *node.as_table()) {
      policy.places[name + '.' + std::string(key.str())] = place_of(key.source());
    }
  }
  if (const toml::node* node = root.get("rule")) {
    const toml::array* list = node->as_array();
    if (list == nullptr) fail(node->source(), "a rule begins with [[rule]], in double brackets");
    for (const toml::node& each : *list) {
      faults.in([&] { policy.rules.push_back(read_rule(each)); });
    }
  }
  if (const toml::node* node = root.get("experiment")) {
    const toml::array* list = node->as_array();
    if (list == nullptr) {
      fail(node->source(), "an experiment begins with [[experiment]], in double brackets");
    }
    for (const toml::node& each : *list) {
      faults.in([&] { policy.experiments.push_back(read_experiment(each)); });
    }
  }
  faults.raise();
  check_complete(policy.rules, file_);
  check_experiments(policy.experiments, file_);
  return policy;
}

}  // namespace

Policy Policy::load_default() {
  try {
    return load(default_file());
  } catch (const Error& error) {
    if (error.code() != HCCL_E_OPEN_FILE_FAILURE) throw;
    throw Error(error.code(), error.what() + std::string("; WEFT_POLICY may name another file"));
  }
}

Policy Policy::load(const std::filesystem::path& file) {
  return parse(read_policy_file(file), file.string());
}

Policy Policy::parse(std::string_view text, const std::string& name) {
  auto impl = std::make_unique<Impl>();
  impl->name = name;
  try {
    impl->contents = Reader(impl->name).read(toml::parse(text, name));
  } catch (const toml::parse_error& error) {
    complain(name, place_of(error.source()), std::string(error.description()));
  }
  for (const Rule& rule : impl->contents.rules) {
    if (!rule.bytes.covers(Range{})) impl->ops_by_bytes |= 1U << rule.op;
  }
  for (const Experiment& each : impl->contents.experiments) {
    if (!each.calls.bytes.covers(Range{})) impl->ops_by_bytes |= 1U << each.calls.op;
  }
  // Folders and time limits are a host's own: ranks may differ in them.
  const Settings& settings = impl->contents.settings;
  std::string text_of_all = canonical_text(impl->contents.rules) +
                            canonical_text(impl->contents.experiments) + "transport " +
                            settings.transport + ' ' + settings.engine;
  if (settings.memory_order) text_of_all += " memory";
  for (const std::string& each : settings.memory_order.value_or(std::vector<std::string>())) {
    text_of_all += ' ' + each;
  }
  impl->digest = digest_of(text_of_all);
  return Policy(std::move(impl));
}

}  // namespace weft::config
