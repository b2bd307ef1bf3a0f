// SPDX-License-Identifier: Apache-2.0
// What HCCL_ALGO and HcclCommConfig.hcclAlgo ask for: an algorithm for each operator and level.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weft::config {

/// Wins over the policy where an algorithm answers to it.
struct Wish {
  std::string_view name;  // a name of kHcclAlgoNames; empty: the policy decides
  std::string_view from;  // "HCCL_ALGO" or "hcclAlgo"
};

struct HcclAlgo {
  static constexpr std::size_t kLevels = 4;
  static constexpr std::size_t kOperators = 11;
  /// Names of algorithms, of static storage; empty where nothing is asked for.
  using Levels = std::array<std::string_view, kLevels>;

  std::string as_given;   // the text
  bool given = false;     // the text was not empty, though it may leave every choice open
  std::string_view from;  // "HCCL_ALGO" or "hcclAlgo"
  std::array<Levels, kOperators> levels{};  // by operator, in the order of HCCL's documents
  std::vector<std::string> warnings;        // about parts of the text without effect

  /// The wish for an operation of the policy ("all_gather_v"). Level 0 alone chooses within a host.
  [[nodiscard]] Wish level0(std::string_view operation) const;
  /// All that level 0 asks for, each name once.
  [[nodiscard]] std::vector<std::string_view> level0_names() const;
  /// Levels 1 to 3, which choose between hosts, ask for something.
  [[nodiscard]] bool beyond_a_host() const;
  /// The meaning as text: equal for two texts that ask for the same.
  [[nodiscard]] std::string canonical() const;
};

enum class HcclAlgoSource { kVariable, kCommConfig };

/// Reads `[operator=]level:algorithm[;level:algorithm]...[/operator=...]`; spaces do not count.
/// Throws Error (HCCL_E_PARA) with the source, the text, the column and what is allowed. An unknown
/// operator is an error in the variable, and a warning in the configuration.
[[nodiscard]] HcclAlgo parse_hccl_algo(std::string_view text, HcclAlgoSource source);

}  // namespace weft::config
