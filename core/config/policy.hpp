// SPDX-License-Identifier: Apache-2.0
// The policy: which algorithm runs for which call. Read from TOML once, checked whole, then asked
// per new call shape.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/complain.hpp"
#include "config/hccl_algo.hpp"

namespace weft::plugin {
class Registry;
struct Algorithm;
}  // namespace weft::plugin

namespace weft::config {

/// What a rule may look at. Only facts that all ranks of a call share.
struct Query {
  uint32_t op = 0;  // WEFT_OP_*
  uint64_t bytes =
      0;  // of the larger buffer of one rank: count*size, or ranks*count*size where that is larger
  uint32_t ranks = 0;
  int32_t type = 0;        // HcclDataType; ignored for barrier
  int32_t reduce_op = -1;  // HcclReduceOp, -1 where there is none
  bool deterministic =
      false;       // only algorithms that declare WEFT_ALGORITHM_RANK_ORDER may serve a reduction
  Wish wish = {};  // of HCCL_ALGO or hcclAlgo, for this operation
  // Of the communicator. Servers of its rank table, or hosts where it has none.
  uint32_t hosts = 1;
  uint32_t ranks_per_host = 0;         // the same on all hosts; 0: they differ
  std::string_view communicator = {};  // its name
};

struct Rule;
struct Experiment;

struct Choice {
  const plugin::Algorithm* algorithm = nullptr;
  std::vector<int64_t> params;  // in declared order, defaults filled in
  // "/etc/weft/policy.toml:12", or "HCCL_ALGO level0:ring" for a wish. One that cannot be fulfilled
  // stands behind the rule, with the reason.
  std::string source;
  const Rule* rule = nullptr;  // null: no rule names it. Of the policy, as long as that lives
  const Experiment* experiment = nullptr;  // of which it is an arm
};

/// An algorithm that some call of a communicator may get.
struct Candidate {
  const plugin::Algorithm* algorithm = nullptr;
  std::vector<int64_t> params;  // in declared order
  std::string source;           // "/etc/weft/policy.toml:12:7", or "HCCL_ALGO level0:ring"
};

/// In [memory] order: the device memory that the transport makes visible by itself.
inline constexpr std::string_view kHeap = "heap";

struct Settings {
  std::string transport = "hccs-sdma";
  std::string engine = "direct";
  std::vector<std::filesystem::path>
      plugin_paths;            // beside the default folder; relative ones are of the file's folder
  bool require_check = false;  // no communicator with an algorithm that the checker refutes
  std::optional<std::chrono::milliseconds>
      connect_timeout;  // stronger only than the built-in default
  std::optional<std::chrono::milliseconds> exec_timeout;
  // Memory plugins and kHeap, in the order in which a buffer is looked for. Absent: all that are
  // loaded, those for windows first, then the heap.
  std::optional<std::vector<std::string>> memory_order;
};

class Policy {
 public:
  /// Reads and checks a file. Throws Error: HCCL_E_OPEN_FILE_FAILURE if it cannot be read,
  /// HCCL_E_PARA for anything wrong in it; the text begins with file:line:column and names the
  /// nearest known word.
  [[nodiscard]] static Policy load(const std::filesystem::path& file);
  /// The same of default_file().
  [[nodiscard]] static Policy load_default();
  /// The same from text, for tests and tools; `name` stands for the file in messages.
  [[nodiscard]] static Policy parse(std::string_view text, const std::string& name);
  /// WEFT_POLICY if set, else etc/weft/policy.toml of this installation.
  [[nodiscard]] static std::filesystem::path default_file();
  /// WEFT_POLICY is set.
  [[nodiscard]] static bool is_given();

  Policy(Policy&&) noexcept;
  Policy& operator=(Policy&&) noexcept;
  ~Policy();

  [[nodiscard]] const Settings& settings() const;
  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] std::span<const Rule> rules() const;
  [[nodiscard]] std::span<const Experiment> experiments() const;
  /// Where a setting is written ("transport.engine"); none where the file leaves it out.
  [[nodiscard]] std::optional<Place> written_at(std::string_view setting) const;
  /// Hash of the meaning of the file (not of comments, white space or the path): equal digests,
  /// equal choices.
  [[nodiscard]] const std::string& digest() const;

  /// Names of the plugins that the rules, the experiments and [transport] use, sorted.
  [[nodiscard]] std::vector<std::string> plugins() const;

  /// The same, and the plugins whose algorithms may be chosen for the wishes. After resolve.
  [[nodiscard]] std::vector<std::string> plugins(const HcclAlgo& wishes) const;
  /// Some loaded algorithm answers to this name of HCCL_ALGO. After resolve.
  [[nodiscard]] bool answers_to(std::string_view hccl_algo) const;

  /// Ties rules and experiments to loaded algorithms. Throws Error (HCCL_E_NOT_FOUND) with
  /// file:line:column, the rule and the nearest known name if one is missing (and why its plugin
  /// was refused, if it was); HCCL_E_PARA for an algorithm of another operation, an unknown
  /// parameter or a value out of range. HCCL_E_NOT_FOUND, with its place, for a name in [memory]
  /// order that is no loaded memory plugin.
  void resolve(const plugin::Registry& registry);

  /// Throws Error (HCCL_E_NOT_SUPPORT) if the transport is loaded and does not have the engine.
  void check_engine(const plugin::Registry& registry) const;

  /// All that calls of so many ranks may get by rules, experiments and wishes. After resolve.
  [[nodiscard]] std::vector<Candidate> candidates(uint32_t ranks, const HcclAlgo& wishes) const;

  /// Whether some rule or experiment of the operation has a condition on bytes.
  [[nodiscard]] bool looks_at_bytes(uint32_t op) const noexcept;

  /// Without a wish: the first rule that matches and whose algorithm can serve the query. With one:
  /// the first such rule whose algorithm answers to the wish; else the first loaded algorithm, by
  /// name, that answers to it and can serve; else as without. Throws Error (HCCL_E_NOT_SUPPORT)
  /// that lists each candidate and why it cannot.
  [[nodiscard]] Choice choose(const Query& query) const;
  /// What shares out the query's calls among algorithms instead of that; null if nothing does.
  [[nodiscard]] const Experiment* experiment(const Query& query) const;

 private:
  struct Impl;
  explicit Policy(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::config
