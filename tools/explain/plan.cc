// SPDX-License-Identifier: Apache-2.0
#include "explain/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/op_names.hpp"
#include "command.hpp"
#include "config/environment.hpp"
#include "config/experiment.hpp"
#include "config/rules.hpp"
#include "exec/task_layout.hpp"
#include "explain/others.hpp"
#include "last_words.hpp"
#include "loaded_policy.hpp"
#include "schedule/builder.hpp"
#include "schedule/cost.hpp"
#include "schedule/dump.hpp"

namespace weft::tools {
namespace {

constexpr uint64_t kMb = uint64_t{1} << 20;

/// The call, checked and in the terms of the policy.
struct Asked {
  config::Query query;
  uint64_t count = 0;  // elements of a block
  config::HcclAlgo algo;
};

uint32_t operation_of(const std::string& name) {
  if (const auto op = parse_operation(name)) return *op;
  throw UsageError(
      fmt::format("--op: '{}' is no operation{}", name, did_you_mean(name, operation_names())));
}

void check(const PlannedCall& call, uint32_t op) {
  const auto refuse = [](bool wrong, const std::string& why) {
    if (wrong) throw UsageError(why);
  };
  refuse(call.reduction_given && !is_reduction(op), fmt::format("{} has no reduction", call.op));
  refuse(call.root_given && !has_root(op), fmt::format("{} has no --root", call.op));
  refuse(call.root >= call.ranks, fmt::format("--root: there is no rank {}", call.root));
  refuse(call.of_rank >= call.ranks, fmt::format("--rank: there is no rank {}", call.of_rank));
  refuse(call.hosts > call.ranks,
         fmt::format("--hosts: {} hosts have no {} ranks", call.hosts, call.ranks));
  refuse(is_reduction(op) && !reducible(call.type),
         fmt::format("{} cannot be reduced", type_name(call.type)));
}

/// Blocks of the larger buffer.
uint64_t blocks_of(uint32_t op, uint32_t ranks) {
  return std::max({1U, schedule::in_blocks(op, ranks), schedule::out_blocks(op, ranks)});
}

Asked read(const PlannedCall& call) {
  const config::Environment& environment = config::environment();
  Asked asked;
  config::Query& query = asked.query;
  query.op = operation_of(call.op);
  check(call, query.op);
  asked.algo = config::parse_hccl_algo(call.hccl_algo, config::HcclAlgoSource::kCommConfig);
  if (!asked.algo.given) asked.algo = environment.algo;
  const uint64_t element = std::max<size_t>(1, type_size(call.type));
  const uint64_t block = element * blocks_of(query.op, call.ranks);
  asked.count = query.op == WEFT_OP_BARRIER ? 0 : std::max<uint64_t>(1, call.bytes / block);
  query.bytes = asked.count * block;
  query.ranks = call.ranks;
  query.type = call.type;
  query.reduce_op = is_reduction(query.op) ? call.reduce_op : -1;
  query.deterministic = call.deterministic || environment.deterministic.value_or(0) != 0;
  query.hosts = call.hosts;
  query.ranks_per_host = call.ranks % call.hosts == 0 ? call.ranks / call.hosts : 0;
  query.communicator = call.name;
  query.wish = asked.algo.level0(call.op);
  return asked;
}

void line(const char* key, const std::string& value) { fmt::print("  {:<12}{}\n", key, value); }

void print_call(const PlannedCall& call, const Asked& asked) {
  const config::Query& query = asked.query;
  std::string text = call.op;
  if (query.op != WEFT_OP_BARRIER) {
    text += fmt::format(" of {} bytes, {}", query.bytes, type_name(query.type));
  }
  if (is_reduction(query.op)) text += fmt::format(", {}", op_name(query.reduce_op));
  if (query.deterministic) text += ", deterministic";
  text += fmt::format(", {} ranks", query.ranks);
  if (query.hosts > 1) text += fmt::format(" on {} hosts", query.hosts);
  if (!call.name.empty()) text += fmt::format(", communicator {}", call.name);
  fmt::print("{}\n", text);
}

/// What decides, from strong to weak.
std::string precedence(const PlannedCall& call, const LoadedPolicy& loaded) {
  const std::string& variable = config::environment().algo.as_given;
  return fmt::format("hcclAlgo: {}; HCCL_ALGO: {}; policy: {} ({})",
                     call.hccl_algo.empty() ? "not given" : call.hccl_algo,
                     variable.empty() ? "not set" : variable, loaded.policy.name(), loaded.from);
}

std::string params_text(const config::Choice& choice) {
  std::string text;
  const auto& params = choice.algorithm->params;
  for (size_t i = 0; i < params.size(); ++i) {
    text += fmt::format("{}{} = {}{}", text.empty() ? "" : ", ", params[i].name,
                        plugin::value_text(params[i], choice.params[i]),
                        choice.params[i] == params[i].def ? " (default)" : "");
  }
  return text.empty() ? "none" : text;
}

std::string rule_text(const config::Choice& choice) {
  if (choice.rule == nullptr) return choice.source;
  return fmt::format("{}; the rule in line {} is for {}", choice.source, choice.rule->place.line,
                     config::text_of(*choice.rule));
}

/// Experiments come before the rules: which takes the call, and why the others do not.
void print_experiments(const config::Policy& policy, const config::Query& query) {
  const config::Experiment* taken = policy.experiment(query);
  for (const config::Experiment& each : policy.experiments()) {
    if (each.calls.op != query.op) continue;
    const std::string where =
        fmt::format("{} ({}:{})", each.name, policy.name(), each.calls.place.line);
    if (&each == taken) {
      line("experiment",
           fmt::format("{} shares out such calls: {}; what follows is what they would "
                       "get without it",
                       where, config::text_of(each)));
      continue;
    }
    const std::string why = config::why_not(each, query);
    line("experiment", fmt::format("{} does not take it: {}", where,
                                   why.empty() ? taken->name + " comes first" : why));
  }
}

struct Engine {
  bool as_tasks = false;
  std::string text;
};

/// The one that carries out the call. Throws Failure if none can.
Engine engine_of(const LoadedPolicy& loaded, const config::Query& query) {
  const config::Settings& settings = loaded.policy.settings();
  const plugin::Transport* transport = loaded.registry->find_transport(settings.transport);
  if (transport == nullptr) {
    throw Failure(
        fmt::format("{}: there is no transport '{}'", loaded.policy.name(), settings.transport));
  }
  const weft_transport& table = transport->table;
  const bool tasks = settings.engine == "tasks";
  const bool reduces = query.reduce_op >= 0;
  const std::string by = fmt::format("by transport {}", settings.transport);
  if (tasks && (!reduces || table.tasks->reduces(query.type, query.reduce_op) != 0)) {
    return {true, "tasks, " + by};
  }
  const bool direct = (table.engines & WEFT_ENGINE_DIRECT) != 0;
  if (!direct || (reduces && table.reduces(query.type, query.reduce_op) == 0)) {
    throw Failure(fmt::format("transport '{}' cannot reduce {} with {}", settings.transport,
                              type_name(query.type), op_name(query.reduce_op)));
  }
  if (!tasks) return {false, "direct, " + by};
  return {false, fmt::format("direct, {}, since inline reduce has no {} of {}", by,
                             op_name(query.reduce_op), type_name(query.type))};
}

schedule::Geometry geometry_of(const Asked& asked, const Engine& engine, bool beside_tasks) {
  const uint64_t buffer =
      config::environment().buffer_mb.value_or(HCCL_COMM_DEFAULT_BUFFSIZE) * kMb;
  schedule::Geometry geometry;
  geometry.count = asked.count;
  geometry.element_bytes = static_cast<uint32_t>(std::max<size_t>(1, type_size(asked.query.type)));
  geometry.scratch_bytes = beside_tasks ? exec::scratch_beside_tasks(buffer) : buffer;
  if (engine.as_tasks) {
    const exec::TaskLayout layout = exec::task_layout(asked.query.ranks, buffer);
    geometry.staged = true;
    geometry.scratch_bytes = layout.scratch_bytes;
    geometry.in_bytes = layout.area_bytes;
    geometry.out_bytes = layout.area_bytes;
    geometry.temp_bytes = layout.temp_bytes;
  }
  return geometry;
}

void print_cost(const schedule::Cost& cost, const config::Query& query) {
  const auto by_steps = [](const auto& a, const auto& b) { return a.steps < b.steps; };
  const auto [fewest, most] = std::minmax_element(cost.ranks.begin(), cost.ranks.end(), by_steps);
  line("steps", fewest->steps == most->steps
                    ? fmt::format("{} of each rank", most->steps)
                    : fmt::format("{} to {} of a rank", fewest->steps, most->steps));
  line("rounds", std::to_string(cost.rounds));
  line("pieces",
       cost.pieces == 1 ? "1" : fmt::format("{}, each with these steps and rounds", cost.pieces));
  if (query.op == WEFT_OP_BARRIER) return;
  uint64_t total = 0;
  for (const schedule::RankCost& each : cost.ranks) total += each.read + each.written;
  const auto busiest = std::max_element(
      cost.ranks.begin(), cost.ranks.end(),
      [](const auto& a, const auto& b) { return a.read + a.written < b.read + b.written; });
  const auto rank = busiest - cost.ranks.begin();
  line("bytes", fmt::format("rank {}, the busiest, reads {} and writes {} of other ranks", rank,
                            busiest->read, busiest->written));
  line("", fmt::format("all ranks together: {}{}", total,
                       has_lengths(query.op) ? ", if all blocks are equally long" : ""));
}

}  // namespace

void explain_plan(const PlannedCall& call) {
  const Asked asked = read(call);
  const LoadedPolicy loaded = load_policy(call.policy);
  const Engine engine = engine_of(loaded, asked.query);
  print_call(call, asked);
  if (call.ranks == 1) {
    line("algorithm", "none: a single rank copies its input to its output");
    return;
  }
  const config::Choice choice = loaded.policy.choose(asked.query);
  const plugin::Algorithm& winner = *choice.algorithm;
  LastWords last_words("weft explain");
  const auto emit = [&](uint32_t rank) {
    last_words.prepare(winner.name, call.ranks);
    return schedule::emit(winner.table, winner.name.c_str(),
                          {asked.query.op, call.ranks, rank, call.root}, choice.params);
  };
  const bool beside_tasks = !engine.as_tasks && loaded.policy.settings().engine == "tasks";
  const schedule::Cost cost =
      schedule::cost_of(call.ranks, geometry_of(asked, engine, beside_tasks), emit);
  line("algorithm", fmt::format("{}: {}", winner.name, winner.summary));
  line("chosen by", rule_text(choice));
  line("precedence", precedence(call, loaded));
  if (!engine.as_tasks) print_experiments(loaded.policy, asked.query);
  line("parameters", params_text(choice));
  line("engine", engine.text);
  print_cost(cost, asked.query);
  fmt::print("others\n");
  for (const Other& each : others(loaded, asked.query, choice)) {
    fmt::print("  {}: {}\n", each.algorithm, each.why);
  }
  if (call.steps) fmt::print("{}", schedule::dump(emit(call.of_rank)));
}

}  // namespace weft::tools
