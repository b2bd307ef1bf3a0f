// SPDX-License-Identifier: Apache-2.0
// The options of one subcommand: declared, parsed, explained.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "command.hpp"

namespace weft::tools {

class Options {
 public:
  /// `usage` is the line behind "Usage: ", `about` the text between it and the options.
  Options(const std::string& usage, const std::string& about);
  ~Options();

  // Names are "long" or "long,s". A setter gets the text that was given and throws UsageError if it
  // is wrong; parse() adds the option's name. `metavar` stands for the value in the help text.
  using Setter = std::function<void(const std::string& text)>;
  void flag(const std::string& names, const std::string& help, bool& target);
  void value(const std::string& names, const std::string& metavar, const std::string& help,
             const Setter& set);
  /// May be given several times.
  void list(const std::string& names, const std::string& metavar, const std::string& help,
            const Setter& set);

  enum class Rest {
    kAnywhere,  // words that are no options stand anywhere
    kProgram    // options end at the first such word, or at "--"
  };
  /// False if --help was asked for: it has been printed. Throws UsageError.
  bool parse(const Words& words, Rest rest = Rest::kAnywhere);
  /// Words that are no options.
  const Words& words() const;
  bool given(const std::string& long_name) const;
  /// Long names of all that were given.
  Words given() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Texts to values; all throw UsageError.

/// A decimal number of [low, high].
uint64_t parse_count(const std::string& text, uint64_t low, uint64_t high);
/// Bytes: "8", "1K", "64M", "2G" (powers of 1024; "KiB" and the like are the same).
uint64_t parse_size(const std::string& text);
/// What stands between commas; nothing for an empty text.
Words parse_list(const std::string& text);
/// Seconds above 0, fractions allowed, at most a year.
std::chrono::nanoseconds parse_seconds(const std::string& text);
/// The same with a unit: "500ms", "60s", "2m" or "1h"; without one, seconds.
std::chrono::nanoseconds parse_time(const std::string& text);

}  // namespace weft::tools
