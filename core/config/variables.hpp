// SPDX-License-Identifier: Apache-2.0
// The table of all environment variables: what each may be and what it does. Reading, the warning
// about misspelt names, `weft env` and docs/environment.md all follow it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/environment.hpp"

namespace weft::config {

enum class Effect {
  kActs,
  kChecked,  // a wrong value is refused, a right one changes nothing on a host
  kNotRead   // by weft: it belongs to programs that use it
};
[[nodiscard]] std::string_view effect_name(Effect effect) noexcept;

struct Variable {
  const char* name = "";
  std::string_view values;
  std::string_view fallback;  // what an unset variable means
  std::string_view meaning;
  Effect effect = Effect::kChecked;
  bool empty_is_unset = false;
  bool at_init = true;  // read with the first communicator; else by its user, at its own time
  /// Takes the value. Throws BadValue or Error. Null: every text is right.
  void (*read)(std::string_view text, Environment& into) = nullptr;
  /// What cannot be told before all have been read. Throws BadValue.
  void (*together)(Environment& all) = nullptr;
};

[[nodiscard]] std::span<const Variable> variables() noexcept;

/// Nothing if the variable is not set. For those that are read with the first communicator, the
/// word EmptyString stands for that.
[[nodiscard]] std::optional<std::string_view> value_of(const Variable& variable);

/// What is wrong with the environment in the eyes of one variable; empty if nothing. What the
/// variable says goes into `into`.
[[nodiscard]] std::string read_variable(const Variable& variable, Environment& into);
/// The same for what is to be checked when all have been read.
[[nodiscard]] std::string check_together(const Variable& variable, Environment& all);

}  // namespace weft::config
