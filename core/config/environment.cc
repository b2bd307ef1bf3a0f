// SPDX-License-Identifier: Apache-2.0
#include "config/environment.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/names.hpp"
#include "config/variables.hpp"

namespace weft::config {
namespace {

std::atomic<const Environment*> kept{nullptr};  // leaked on purpose: streams may outlive statics

template <typename Action>
std::string problem_of(const Variable& variable, const Action& action) {
  try {
    action();
    return {};
  } catch (const BadValue& bad) {
    const auto value = value_of(variable);
    return fmt::format("environment variable {}{}: {}; allowed: {}", variable.name,
                       value ? fmt::format("=\"{}\"", *value) : " (unset)", bad.what(),
                       variable.values);
  } catch (const Error& error) {
    return error.what();
  }
}

void require_good(const std::string& problem) {
  if (!problem.empty()) throw Error(HCCL_E_PARA, problem);
}

bool is_known(std::string_view name) {
  return std::ranges::any_of(variables(), [&](const Variable& each) { return name == each.name; });
}

/// Few letters may be wrong: behind the common beginning two, three in a long name.
std::string_view near_variable(std::string_view name) {
  constexpr size_t kPrefix = 5;
  std::vector<std::string_view> names;
  for (const Variable& each : variables()) names.emplace_back(each.name);
  return nearest(name, names, name.size() - kPrefix < 9 ? 2 : 3);
}

}  // namespace

std::optional<std::string_view> value_of(const Variable& variable) {
  const char* value = std::getenv(variable.name);
  if (value == nullptr) return std::nullopt;
  if (variable.at_init && std::string_view(value) == "EmptyString") return std::nullopt;
  return value;
}

std::string read_variable(const Variable& variable, Environment& into) {
  const auto text = value_of(variable);
  if (!text || variable.read == nullptr || (text->empty() && variable.empty_is_unset)) return {};
  return problem_of(variable, [&] { variable.read(*text, into); });
}

std::string check_together(const Variable& variable, Environment& all) {
  if (variable.together == nullptr) return {};
  return problem_of(variable, [&] { variable.together(all); });
}

Environment read_environment() {
  Environment made;
  for (const Variable& each : variables()) {
    if (each.at_init) require_good(read_variable(each, made));
  }
  for (const Variable& each : variables()) require_good(check_together(each, made));
  return made;
}

const Environment& environment() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const Environment* known = kept_environment()) return *known;
  auto made = std::make_unique<Environment>(read_environment());
  for (const std::string& warning : made->warnings) log::warn(warning);
  for (const Misspelt& each : misspelt_variables()) {
    log::warn(fmt::format("environment variable {} is unknown and ignored; did you mean {}?",
                          each.name, each.near));
  }
  kept.store(made.get(), std::memory_order_release);
  return *made.release();
}

const Environment* kept_environment() noexcept { return kept.load(std::memory_order_acquire); }

std::vector<Misspelt> misspelt_variables() {
  std::vector<Misspelt> found;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry(*each);
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!name.starts_with("HCCL_") && !name.starts_with("WEFT_")) continue;
    if (is_known(name)) continue;
    const std::string_view near = near_variable(name);
    if (!near.empty()) found.push_back({std::string(name), near});
  }
  std::ranges::sort(found, {}, &Misspelt::name);
  return found;
}

}  // namespace weft::config
