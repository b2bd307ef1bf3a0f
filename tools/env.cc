// SPDX-License-Identifier: Apache-2.0
// `weft env`: lists the environment variables, what they are and do here, and what is wrong.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "acl/acl.h"
#include "command.hpp"
#include "config/variables.hpp"
#include "options.hpp"

namespace weft::tools {
namespace {

using config::Variable;

constexpr const char* kUsageLine = "weft env [options]";
constexpr const char* kAbout =
    R"(Lists the environment variables that weft knows: the value of each, whether it is set or the
default, and its effect:

  acts          a value that is set is used
  checked only  a wrong value is refused; a right one changes nothing on a host
  not read      by weft: it belongs to programs that use it

A value that communicators would refuse is marked INVALID, with what is allowed. Names that look like
a misspelt variable are listed at the end.

Exit code: 0 if all values are right, 1 if one is invalid.)";

struct Finding {
  const Variable* variable = nullptr;
  bool set = false;
  std::string value;
  std::string problem;
};

/// The device runtime reads its variables itself: its answer names one that is wrong.
std::string runtime_problem() {
  uint32_t count = 0;
  void* memory = nullptr;
  bool good = aclrtGetDeviceCount(&count) == ACL_SUCCESS && aclrtSetDevice(0) == ACL_SUCCESS;
  if (good) {
    good = aclrtMalloc(&memory, 1, ACL_MEM_MALLOC_NORMAL_ONLY) == ACL_SUCCESS;
    if (good) aclrtFree(memory);
  }
  const char* text = good ? nullptr : aclGetRecentErrMsg();
  const std::string problem = text == nullptr ? "" : text;
  if (count > 0) aclrtResetDevice(0);
  return problem;
}

std::vector<Finding> look_around() {
  config::Environment all;
  std::vector<Finding> findings;
  const std::string of_runtime = runtime_problem();
  for (const Variable& each : config::variables()) {
    const auto value = config::value_of(each);
    const bool set = value && !(value->empty() && each.empty_is_unset);
    Finding found{&each, set, std::string(set ? *value : each.fallback),
                  config::read_variable(each, all)};
    if (set && of_runtime.find(fmt::format("{} is ", each.name)) != std::string::npos) {
      found.problem = of_runtime;
    }
    findings.push_back(std::move(found));
  }
  for (Finding& each : findings) {
    if (each.problem.empty()) each.problem = config::check_together(*each.variable, all);
  }
  return findings;
}

const char* source(const Finding& found) { return found.set ? "environment" : "default"; }

void print_text(const std::vector<Finding>& findings,
                const std::vector<config::Misspelt>& misspelt) {
  size_t width = 0;
  for (const Finding& each : findings) {
    width = std::max(width, std::string_view(each.variable->name).size());
  }
  for (const Finding& each : findings) {
    fmt::print("{:<{}}  {}\n", each.variable->name, width, each.value);
    fmt::print("{:<{}}  {}, {}: {}\n", "", width, source(each),
               config::effect_name(each.variable->effect), each.variable->meaning);
    if (!each.problem.empty()) fmt::print("{:<{}}  INVALID: {}\n", "", width, each.problem);
  }
  for (const config::Misspelt& each : misspelt) {
    fmt::print("{} is unknown and ignored; did you mean {}?\n", each.name, each.near);
  }
}

void print_json(const std::vector<Finding>& findings,
                const std::vector<config::Misspelt>& misspelt) {
  nlohmann::ordered_json all = {{"variables", nlohmann::ordered_json::array()},
                                {"misspelt", nlohmann::ordered_json::array()}};
  for (const Finding& each : findings) {
    nlohmann::ordered_json entry = {
        {"name", each.variable->name},      {"value", each.value},
        {"source", source(each)},           {"effect", config::effect_name(each.variable->effect)},
        {"allowed", each.variable->values}, {"meaning", each.variable->meaning}};
    if (!each.problem.empty()) entry["error"] = each.problem;
    all["variables"].push_back(std::move(entry));
  }
  for (const config::Misspelt& each : misspelt) {
    all["misspelt"].push_back({{"name", each.name}, {"near", each.near}});
  }
  // Values of the environment may be any bytes.
  const auto replace = nlohmann::ordered_json::error_handler_t::replace;
  fmt::print("{}\n", all.dump(2, ' ', false, replace));
}

}  // namespace

int env_command(const Words& words) {
  bool json = false;
  Options options(kUsageLine, kAbout);
  options.flag("json", "print JSON", json);
  if (!options.parse(words)) return kOk;
  if (!options.words().empty()) {
    throw UsageError(fmt::format("'{}' is one word too many", options.words()[0]));
  }
  const std::vector<Finding> findings = look_around();
  (json ? print_json : print_text)(findings, config::misspelt_variables());
  const bool good =
      std::ranges::all_of(findings, [](const Finding& f) { return f.problem.empty(); });
  return good ? kOk : kFailed;
}

}  // namespace weft::tools
