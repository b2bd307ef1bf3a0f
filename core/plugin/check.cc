// SPDX-License-Identifier: Apache-2.0
#include "plugin/check.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/hccl_algo_names.hpp"
#include "base/log.hpp"
#include "base/op_names.hpp"
#include "plugin/table.hpp"

namespace weft::plugin {
namespace {

// Above any plugin that is meant: a larger count is read from something that is no table.
constexpr uint32_t kMaxAlgorithms = 1024;
constexpr uint32_t kMaxParams = 64;
constexpr int64_t kMaxChoices = 64;

constexpr std::array kDescriptorEntries = {WEFT_ENTRY(weft_plugin_desc, name),
                                           WEFT_ENTRY(weft_plugin_desc, table)};
constexpr std::array kAlgorithmEntries = {WEFT_ENTRY(weft_algorithm, name),
                                          WEFT_ENTRY(weft_algorithm, emit)};
// Every entry of 1.0 is required. One that a later minor appends is not: it gets a stub instead.
constexpr std::array kTransportEntries = {WEFT_ENTRY(weft_transport, open),
                                          WEFT_ENTRY(weft_transport, get_device),
                                          WEFT_ENTRY(weft_transport, set_device),
                                          WEFT_ENTRY(weft_transport, reset_device),
                                          WEFT_ENTRY(weft_transport, physical_device),
                                          WEFT_ENTRY(weft_transport, endpoint_open),
                                          WEFT_ENTRY(weft_transport, endpoint_close),
                                          WEFT_ENTRY(weft_transport, enter),
                                          WEFT_ENTRY(weft_transport, leave),
                                          WEFT_ENTRY(weft_transport, allocate),
                                          WEFT_ENTRY(weft_transport, release),
                                          WEFT_ENTRY(weft_transport, describe),
                                          WEFT_ENTRY(weft_transport, connect),
                                          WEFT_ENTRY(weft_transport, submit),
                                          WEFT_ENTRY(weft_transport, synchronize),
                                          WEFT_ENTRY(weft_transport, task_error),
                                          WEFT_ENTRY(weft_transport, call_error),
                                          WEFT_ENTRY(weft_transport, look_up),
                                          WEFT_ENTRY(weft_transport, copy),
                                          WEFT_ENTRY(weft_transport, reduce),
                                          WEFT_ENTRY(weft_transport, reduces)};
constexpr std::array kTasksEntries = {
    WEFT_ENTRY(weft_tasks, reduces), WEFT_ENTRY(weft_tasks, share),  WEFT_ENTRY(weft_tasks, stream),
    WEFT_ENTRY(weft_tasks, locate),  WEFT_ENTRY(weft_tasks, copy),   WEFT_ENTRY(weft_tasks, reduce),
    WEFT_ENTRY(weft_tasks, record),  WEFT_ENTRY(weft_tasks, wait),   WEFT_ENTRY(weft_tasks, mark),
    WEFT_ENTRY(weft_tasks, follow),  WEFT_ENTRY(weft_tasks, passed), WEFT_ENTRY(weft_tasks, abort)};
constexpr std::array kMemoryEntries = {
    WEFT_ENTRY(weft_memory, open), WEFT_ENTRY(weft_memory, attach), WEFT_ENTRY(weft_memory, detach),
    WEFT_ENTRY(weft_memory, explain)};
constexpr std::array kWindowEntries = {
    WEFT_ENTRY(weft_memory, window_register), WEFT_ENTRY(weft_memory, window_deregister),
    WEFT_ENTRY(weft_memory, window_find),     WEFT_ENTRY(weft_memory, window_peer),
    WEFT_ENTRY(weft_memory, memory_alloc),    WEFT_ENTRY(weft_memory, memory_free)};
constexpr std::array kRangeEntries = {
    WEFT_ENTRY(weft_memory, range_set), WEFT_ENTRY(weft_memory, range_unset),
    WEFT_ENTRY(weft_memory, range_activate), WEFT_ENTRY(weft_memory, range_deactivate)};

bool is_name(std::string_view name, bool dash) noexcept {
  const auto good = [dash](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || (dash && c == '-');
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), good);
}

void check_name(const char* name, bool dash, const std::string& what) {
  if (name != nullptr && is_name(name, dash)) return;
  throw Refusal(what + " has the name \"" + (name == nullptr ? "" : name) + "\"", "P12",
                std::string("names are made of a-z, 0-9") + (dash ? ", _ and -" : " and _"));
}

// What HCCL_ALGO cannot name would never be chosen by it.
void check_hccl_algo(const char* name, const std::string& what) {
  if (name == nullptr) return;
  if (std::find(kHcclAlgoNames.begin(), kHcclAlgoNames.end(), name) != kHcclAlgoNames.end()) return;
  std::string known;
  for (const std::string_view each : kHcclAlgoNames) {
    known.append(known.empty() ? "" : ", ").append(each);
  }
  throw Refusal(what + " has the hccl_algo \"" + name + "\"", "P5", "HCCL_ALGO knows " + known);
}

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

// Values of a type of a later minor are shown as the numbers that they are.
uint32_t known_type(const weft_param& theirs, const std::string& what) {
  if (theirs.type <= WEFT_PARAM_CHOICE) return theirs.type;
  if (theirs.head.minor > WEFT_ABI_MINOR) return WEFT_PARAM_INTEGER;
  throw Refusal(what + " is of type " + std::to_string(theirs.type) + ", which does not exist",
                "P3", "use one of WEFT_PARAM_*");
}

std::vector<std::string> check_choices(const weft_param& theirs, const std::string& what) {
  if (theirs.choices == nullptr || theirs.max >= kMaxChoices) {
    throw Refusal(what + " is a choice up to " + std::to_string(theirs.max) +
                      (theirs.choices == nullptr ? ", but has no names" : ", which is too many"),
                  "P5", "give max + 1 names, at most " + std::to_string(kMaxChoices));
  }
  std::vector<std::string> names;
  for (int64_t i = 0; i <= theirs.max; ++i) {
    const std::string which = "choice " + std::to_string(i) + " of " + what;
    check_name(theirs.choices[i], false, which);
    for (const std::string& other : names) {
      if (other == theirs.choices[i]) {
        throw Refusal(which + " is a second \"" + other + "\"", "P12", "give each its own name");
      }
    }
    names.emplace_back(theirs.choices[i]);
  }
  return names;
}

// What a value can be must be what its type says.
void check_type(const Param& param, const std::string& what) {
  if (param.type == WEFT_PARAM_INTEGER) return;
  if (param.min == 0 && (param.type == WEFT_PARAM_CHOICE || param.max == 1)) return;
  throw Refusal(what + " is a " + std::string(type_name(param)) + " with the limits " +
                    std::to_string(param.min) + ".." + std::to_string(param.max),
                "P5", "let them be 0 and the last value");
}

Param check_param(const weft_param& theirs, const std::string& what) {
  check_head(theirs.head, what);
  if (!WEFT_HAS(&theirs, weft_param, choices)) {
    throw Refusal(what + " ends before its choices", "P2", "begin it with WEFT_HEAD(weft_param)");
  }
  check_name(theirs.name, false, what);
  const std::string named = what + " (" + theirs.name + ")";
  Param param{theirs.name, text_or_empty(theirs.help), theirs.def, theirs.min,
              theirs.max,  known_type(theirs, named)};
  if (param.min > param.def || param.def > param.max) {
    throw Refusal(named + " has the default " + std::to_string(param.def) + " outside its limits " +
                      std::to_string(param.min) + ".." + std::to_string(param.max),
                  "P5", "change one of them");
  }
  check_type(param, named);
  if (param.type == WEFT_PARAM_CHOICE) param.choices = check_choices(theirs, named);
  return param;
}

std::vector<Param> check_params(const weft_algorithm& table, const std::string& full_name) {
  if (table.param_count == 0) return {};
  // The least that a writer of this major can have.
  constexpr std::size_t kLeastStride = offsetof(weft_param, choices) + sizeof(weft_param::choices);
  if (table.params == nullptr || table.param_count > kMaxParams ||
      table.param_stride < kLeastStride || table.param_stride % alignof(weft_param) != 0) {
    throw Refusal(
        "algorithm " + full_name +
            " has a malformed list of parameters: " + std::to_string(table.param_count) + " of " +
            std::to_string(table.param_stride) + " bytes each",
        "P2",
        "give at most " + std::to_string(kMaxParams) + ", and sizeof(weft_param) as param_stride");
  }
  std::vector<Param> params;
  const char* at = reinterpret_cast<const char*>(table.params);
  for (uint32_t i = 0; i < table.param_count; ++i, at += table.param_stride) {
    const std::string what = "parameter " + std::to_string(i) + " of algorithm " + full_name;
    Param param = check_param(*reinterpret_cast<const weft_param*>(at), what);
    for (const Param& other : params) {
      if (other.name == param.name) {
        throw Refusal(what + " is a second \"" + param.name + "\"", "P12", "rename one of them");
      }
    }
    params.push_back(std::move(param));
  }
  return params;
}

Algorithm check_algorithm(const weft_algorithm& theirs, const char* plugin, uint32_t index) {
  std::string what = "algorithm " + std::to_string(index);
  check_head(theirs.head, what);
  check_entries(&theirs, kAlgorithmEntries, what);
  check_name(theirs.name, false, what);
  Algorithm ours;
  ours.name = std::string(plugin) + "." + theirs.name;
  what = "algorithm " + ours.name;
  ours.table = full_copy(theirs);
  ours.summary = text_or_empty(ours.table.summary);
  if (ours.table.min_ranks < 2) {
    throw Refusal(what + " has min_ranks " + std::to_string(ours.table.min_ranks), "P5",
                  "the least is 2, a single rank never reaches an algorithm");
  }
  if (ours.table.max_ranks != 0 && ours.table.max_ranks < ours.table.min_ranks) {
    throw Refusal(what + " has max_ranks " + std::to_string(ours.table.max_ranks) +
                      ", less than its min_ranks " + std::to_string(ours.table.min_ranks),
                  "P5", "raise it, or let it be 0 for no limit");
  }
  check_hccl_algo(ours.table.hccl_algo, what);
  ours.params = check_params(ours.table, ours.name);
  return ours;
}

// A later minor may know operations that this library does not: those algorithms are left out.
bool is_known_operation(const Algorithm& algorithm) {
  const weft_algorithm& table = algorithm.table;
  if (table.op >= 1 && table.op < WEFT_OP_COUNT) return true;
  if (table.head.minor <= WEFT_ABI_MINOR) {
    throw Refusal("algorithm " + algorithm.name + " is for operation " + std::to_string(table.op) +
                      ", which does not exist",
                  "P3", "use one of WEFT_OP_*");
  }
  log::info("algorithm " + algorithm.name + " is left out: operation " + std::to_string(table.op) +
            " is newer than this library");
  return false;
}

}  // namespace

weft_plugin_desc check_descriptor(const weft_plugin_desc& theirs) {
  const std::string what = "the plugin descriptor";
  // Size, major, magic and kind are at the same place in every major.
  if (!WEFT_HAS(&theirs, weft_plugin_desc, kind)) {
    throw Refusal(what + " has only " + std::to_string(theirs.head.size) + " bytes", "P2",
                  "begin it with WEFT_HEAD(weft_plugin_desc)");
  }
  if (theirs.magic != WEFT_PLUGIN_MAGIC) {
    throw Refusal(what + " has the wrong magic: not a weft plugin", "P2",
                  "fill in WEFT_PLUGIN_MAGIC");
  }
  check_head(theirs.head, what);
  if (theirs.kind < WEFT_KIND_ALGORITHMS || theirs.kind > WEFT_KIND_MEMORY) {
    throw Refusal("it is a plugin of kind " + std::to_string(theirs.kind), "P2",
                  "this library uses kinds 1 (algorithms), 2 (transport) and 3 (memory)");
  }
  check_entries(&theirs, kDescriptorEntries, what);
  check_name(theirs.name, true, what);
  return full_copy(theirs);
}

std::vector<Algorithm> check_algorithms(const weft_plugin_desc& desc) {
  const auto& theirs = *static_cast<const weft_algorithms*>(desc.table);
  const std::string what = "the table of algorithms";
  check_head(theirs.head, what);
  check_entries(&theirs, std::array{WEFT_ENTRY(weft_algorithms, items)}, what);
  if (theirs.count == 0 || theirs.count > kMaxAlgorithms) {
    throw Refusal(what + " has " + std::to_string(theirs.count) + " entries", "P5",
                  "1 to " + std::to_string(kMaxAlgorithms) + " are possible");
  }
  std::vector<Algorithm> algorithms;
  for (uint32_t i = 0; i < theirs.count; ++i) {
    if (theirs.items[i] == nullptr) {
      throw Refusal("algorithm " + std::to_string(i) + " is null", "P5", "count what there is");
    }
    Algorithm next = check_algorithm(*theirs.items[i], desc.name, i);
    for (const Algorithm& other : algorithms) {
      if (other.name == next.name) {
        throw Refusal("it has two algorithms " + next.name, "P12", "rename one of them");
      }
    }
    if (is_known_operation(next)) algorithms.push_back(std::move(next));
  }
  return algorithms;
}

Transport check_transport(const weft_plugin_desc& desc) {
  const auto& theirs = *static_cast<const weft_transport*>(desc.table);
  const std::string what = "the table of the transport";
  check_head(theirs.head, what);
  check_entries(&theirs, kTransportEntries, what);
  Transport ours{desc.name, full_copy(theirs), nullptr};
  if ((ours.table.engines & (WEFT_ENGINE_DIRECT | WEFT_ENGINE_TASKS)) == 0) {
    throw Refusal(what + " offers no engine that this library knows", "P5",
                  "offer WEFT_ENGINE_DIRECT or WEFT_ENGINE_TASKS");
  }
  if ((ours.table.engines & WEFT_ENGINE_TASKS) != 0) {
    check_entries(&theirs, std::array{WEFT_ENTRY(weft_transport, tasks)}, what);
    const std::string part = "the table of the tasks engine";
    check_head(ours.table.tasks->head, part);
    check_entries(ours.table.tasks, kTasksEntries, part);
    ours.tasks = std::make_unique<weft_tasks>(full_copy(*ours.table.tasks));
    ours.table.tasks = ours.tasks.get();
  }
  return ours;
}

Memory check_memory(const weft_plugin_desc& desc) {
  const auto& theirs = *static_cast<const weft_memory*>(desc.table);
  const std::string what = "the table of the memory plugin";
  check_head(theirs.head, what);
  check_entries(&theirs, kMemoryEntries, what);
  Memory ours{desc.name, full_copy(theirs)};
  if ((ours.table.families & WEFT_MEMORY_WINDOWS) != 0) {
    check_entries(&theirs, kWindowEntries, what);
  }
  if ((ours.table.families & WEFT_MEMORY_RANGES) != 0) check_entries(&theirs, kRangeEntries, what);
  if ((ours.table.families & (WEFT_MEMORY_WINDOWS | WEFT_MEMORY_RANGES)) == 0) {
    throw Refusal(what + " offers no family of functions that this library knows", "P5",
                  "offer WEFT_MEMORY_WINDOWS or WEFT_MEMORY_RANGES");
  }
  return ours;
}

}  // namespace weft::plugin
