// SPDX-License-Identifier: Apache-2.0
#include "comm/library.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"

namespace weft::comm {

Library& Library::instance() {
  // Leaked on purpose: streams may still run tasks while the process exits.
  static auto* library = new Library;
  return *library;
}

std::shared_ptr<const config::Policy> Library::load_policy() {
  const std::lock_guard lock(mutex_);
  // Before the policy is read: a runtime should learn the text of what is wrong with it.
  registry_.load(plugin::default_folder());
  auto policy = std::make_shared<config::Policy>(config::Policy::load_default());
  for (const auto& path : plugin::path_variable()) registry_.load(path);
  for (const auto& path : policy->settings().plugin_paths) registry_.load(path);
  policy->resolve(registry_);
  policy->check_engine(registry_);  // a missing transport is the business of transport()
  return policy;
}

std::shared_ptr<PolicyUse> Library::use_of(const config::Policy& policy) {
  if (!config::Policy::is_given()) return nullptr;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<PolicyUse>& use = uses_[policy.name() + ' ' + policy.digest()];
  if (use == nullptr) use = std::make_shared<PolicyUse>();
  return use;
}

OpenTransport Library::transport(const std::string& name) {
  const std::lock_guard lock(mutex_);
  for (const Opened& opened : opened_) {
    if (opened.name == name) return opened.transport;
  }
  const plugin::Transport* found = registry_.find_transport(name);
  if (found == nullptr) {
    std::string why = "no such plugin was found";
    for (const plugin::Plugin& p : registry_.plugins()) {
      if (p.name == name && !p.refusal.empty()) why = p.refusal;
    }
    throw Error(HCCL_E_NOT_FOUND, fmt::format("transport '{}' cannot be used: {}", name, why));
  }
  OpenTransport transport{&found->table, nullptr};
  const int32_t code = found->table.open(&plugin::host(), &transport.context);
  if (code != HCCL_SUCCESS) {
    throw Error(static_cast<HcclResult>(code),
                fmt::format("transport '{}' does not start: {}", name, plugin::take_failure()));
  }
  opened_.push_back({name, transport});
  return transport;
}

std::optional<OpenTransport> Library::any_transport() {
  const std::lock_guard lock(mutex_);
  return opened_.empty() ? std::nullopt : std::optional(opened_.front().transport);
}

OpenMemory Library::open_memory(const plugin::Memory& memory) {
  for (const OpenMemory& opened : memories_) {
    if (opened.plugin == &memory) return opened;
  }
  OpenMemory opened{&memory, nullptr};
  const int32_t code = memory.table.open(&plugin::host(), &opened.context);
  if (code != HCCL_SUCCESS) {
    throw Error(static_cast<HcclResult>(code), fmt::format("memory plugin '{}' does not start: {}",
                                                           memory.name, plugin::take_failure()));
  }
  memories_.push_back(opened);
  return opened;
}

std::vector<OpenMemory> Library::memories(const config::Policy& policy) {
  const std::lock_guard lock(mutex_);
  std::vector<OpenMemory> order;
  const auto& given = policy.settings().memory_order;
  if (!given) {
    for (const uint32_t family : {WEFT_MEMORY_WINDOWS, WEFT_MEMORY_RANGES}) {
      for (const plugin::Memory& each : registry_.memories()) {
        const uint32_t first = each.table.families & WEFT_MEMORY_WINDOWS;
        if ((first != 0 ? WEFT_MEMORY_WINDOWS : WEFT_MEMORY_RANGES) != family) continue;
        order.push_back(open_memory(each));
      }
    }
    order.push_back({});
    return order;
  }
  for (const std::string& name : *given) {
    // Policy::resolve() saw to it that there is one.
    order.push_back(name == config::kHeap ? OpenMemory{}
                                          : open_memory(*registry_.find_memory(name)));
  }
  return order;
}

std::vector<OpenMemory> Library::opened_memories() {
  const std::lock_guard lock(mutex_);
  return memories_;
}

std::string Library::versions_of(const std::vector<std::string>& names) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> versions;
  for (const std::string& name : names) {
    for (const plugin::Plugin& p : registry_.plugins()) {
      if (p.name == name && p.refusal.empty()) versions.push_back(name + ' ' + p.version);
    }
  }
  return fmt::format("{}", fmt::join(versions, ", "));
}

void Library::tell_runtimes(const char* text) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    // An error may come before anything else is done.
    if (registry_.plugins().empty()) registry_.load(plugin::default_folder());
    for (const plugin::Plugin& p : registry_.plugins()) {
      // Also those that are not open: what is wrong may be why.
      const plugin::Transport* found = registry_.find_transport(p.name);
      if (found != nullptr) found->table.call_error(text);
    }
  } catch (const std::exception&) {
    // The caller is reporting an error already; the text stays in last_error() and in the log.
    return;
  }
}

}  // namespace weft::comm
