// SPDX-License-Identifier: Apache-2.0
// What a policy that was read answers.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/install.hpp"
#include "base/op_names.hpp"
#include "config/choice.hpp"
#include "config/complain.hpp"
#include "config/policy_impl.hpp"
#include "plugin/registry.hpp"

namespace weft::config {

std::filesystem::path Policy::default_file() {
  if (is_given()) return std::getenv("WEFT_POLICY");
  return install_prefix() / "etc" / "weft" / "policy.toml";
}

bool Policy::is_given() {
  const char* chosen = std::getenv("WEFT_POLICY");
  return chosen != nullptr && *chosen != '\0';
}

Policy::Policy(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Policy::Policy(Policy&&) noexcept = default;
Policy& Policy::operator=(Policy&&) noexcept = default;
Policy::~Policy() = default;

const Settings& Policy::settings() const { return impl_->contents.settings; }
const std::string& Policy::name() const { return impl_->name; }
const std::string& Policy::digest() const { return impl_->digest; }
std::span<const Rule> Policy::rules() const { return impl_->contents.rules; }

std::span<const Experiment> Policy::experiments() const { return impl_->contents.experiments; }

std::optional<Place> Policy::written_at(std::string_view setting) const {
  const auto found = impl_->contents.places.find(setting);
  if (found == impl_->contents.places.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> Policy::plugins() const { return plugins({}); }

std::vector<std::string> Policy::plugins(const HcclAlgo& wishes) const {
  std::set<std::string> names = {impl_->contents.settings.transport};
  const auto add = [&](const std::string& algorithm) {
    names.insert(algorithm.substr(0, algorithm.find('.')));
  };
  for (const Rule& rule : impl_->contents.rules) add(rule.use);
  for (const Experiment& experiment : impl_->contents.experiments) {
    for (const Arm& arm : experiment.arms) add(arm.rule.use);
  }
  for (const plugin::Algorithm* each : impl_->wishable) {
    const Wish wish = wishes.level0(operation_name(each->table.op));
    if (each->table.hccl_algo == wish.name) add(each->name);
  }
  return {names.begin(), names.end()};
}

bool Policy::answers_to(std::string_view hccl_algo) const {
  return std::any_of(
      impl_->wishable.begin(), impl_->wishable.end(),
      [&](const plugin::Algorithm* each) { return each->table.hccl_algo == hccl_algo; });
}

namespace {

/// HCCL_E_NOT_FOUND for the first name that is no loaded memory plugin.
void check_memory_order(const Contents& contents, const plugin::Registry& registry,
                        const std::string& file) {
  const auto& order = contents.settings.memory_order;
  for (size_t i = 0; order && i < order->size(); ++i) {
    const std::string& wanted = (*order)[i];
    if (wanted == kHeap || registry.find_memory(wanted) != nullptr) continue;
    std::vector<std::string_view> known = {kHeap};
    for (const plugin::Memory& each : registry.memories()) known.push_back(each.name);
    complain(file, contents.memory_places[i],
             "no memory plugin \"" + wanted + '"' + suggestion(wanted, known), HCCL_E_NOT_FOUND);
  }
}

}  // namespace

void Policy::resolve(const plugin::Registry& registry) {
  check_memory_order(impl_->contents, registry, impl_->name);
  for (Rule& rule : impl_->contents.rules) config::resolve(rule, registry, impl_->name);
  for (Experiment& experiment : impl_->contents.experiments) {
    for (Arm& arm : experiment.arms) config::resolve(arm.rule, registry, impl_->name);
  }
  impl_->wishable.clear();
  for (const plugin::Algorithm& each : registry.algorithms()) {
    if (each.table.hccl_algo != nullptr) impl_->wishable.push_back(&each);
  }
  std::sort(impl_->wishable.begin(), impl_->wishable.end(),
            [](const auto* a, const auto* b) { return a->name < b->name; });
}

void Policy::check_engine(const plugin::Registry& registry) const {
  const Settings& wanted = settings();
  const plugin::Transport* found = registry.find_transport(wanted.transport);
  const uint32_t engine = wanted.engine == "tasks" ? WEFT_ENGINE_TASKS : WEFT_ENGINE_DIRECT;
  if (found == nullptr || (found->table.engines & engine) != 0) return;
  complain(name(), written_at("transport.engine").value_or(Place{}),
           "transport '" + wanted.transport + "' has no engine \"" + wanted.engine +
               "\"; change \"engine\" in [transport]",
           HCCL_E_NOT_SUPPORT);
}

bool Policy::looks_at_bytes(uint32_t op) const noexcept {
  return (impl_->ops_by_bytes >> op & 1) != 0;
}

std::vector<Candidate> Policy::candidates(uint32_t ranks, const HcclAlgo& wishes) const {
  const Contents& all = impl_->contents;
  return config::candidates({impl_->name, all.rules, all.experiments, impl_->wishable}, ranks,
                            wishes);
}

Choice Policy::choose(const Query& query) const {
  const Contents& all = impl_->contents;
  return config::choose({impl_->name, all.rules, all.experiments, impl_->wishable}, query);
}

const Experiment* Policy::experiment(const Query& query) const {
  return find_experiment(impl_->contents.experiments, query);
}

}  // namespace weft::config
