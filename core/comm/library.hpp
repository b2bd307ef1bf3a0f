// SPDX-License-Identifier: Apache-2.0
// What the communicators of a process share: its plugins and the open transports. Everything else
// is per communicator.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/memory_group.hpp"
#include "comm/policy_use.hpp"
#include "comm/proofs.hpp"
#include "config/policy.hpp"
#include "plugin/registry.hpp"

namespace weft::comm {

struct OpenTransport {
  const weft_transport* table = nullptr;
  void* context = nullptr;
};

class Library {
 public:
  static Library& instance();

  /// Reads the policy file and loads the plugins it needs; ties its rules to them. Throws Error.
  [[nodiscard]] std::shared_ptr<const config::Policy> load_policy();

  /// Of all communicators of this process under this policy; null if it is the default one.
  [[nodiscard]] std::shared_ptr<PolicyUse> use_of(const config::Policy& policy);

  /// The transport of this name, opened once. Throws Error.
  [[nodiscard]] OpenTransport transport(const std::string& name);

  /// One that is open, if any is.
  [[nodiscard]] std::optional<OpenTransport> any_transport();

  /// The memory plugins that the policy orders, or all that are loaded, opened once; a null plugin
  /// stands for the transport's own memory. Throws Error.
  [[nodiscard]] std::vector<OpenMemory> memories(const config::Policy& policy);

  /// All memory plugins that are open in this process.
  [[nodiscard]] std::vector<OpenMemory> opened_memories();

  /// "hccs-sdma 1.0.0, mesh 1.0.0": of the loaded plugins of these names, in their order.
  [[nodiscard]] std::string versions_of(const std::vector<std::string>& names);

  /// Of the algorithms of these plugins.
  [[nodiscard]] Proofs& proofs() noexcept { return proofs_; }

  /// Gives the text of a failed call to the runtimes behind the loaded transports. Never throws.
  void tell_runtimes(const char* text) noexcept;

 private:
  struct Opened {
    std::string name;
    OpenTransport transport;
  };

  OpenMemory open_memory(const plugin::Memory& memory);

  std::mutex mutex_;
  plugin::Registry registry_;
  std::vector<Opened> opened_;
  std::map<std::string, std::shared_ptr<PolicyUse>> uses_;  // by file and digest
  std::vector<OpenMemory> memories_;
  Proofs proofs_;
};

}  // namespace weft::comm
