// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <cctype>
#include <charconv>
#include <span>
#include <sstream>
#include <string_view>
#include <vector>

namespace weft::tools {

namespace po = boost::program_options;

struct Options::Impl {
  std::string usage;
  std::string about;
  po::options_description known{"Options"};
  std::vector<std::string> names;  // long ones, for suggestions
  po::variables_map found;
  Words words;

  void add(const std::string& option_names, po::value_semantic* semantic, const std::string& help) {
    known.add_options()(option_names.c_str(), semantic, help.c_str());
    names.push_back(option_names.substr(0, option_names.find(',')));
  }
  [[noreturn]] void unknown(const std::string& option) const;
  void read(const Words& given, Rest rest);
};

namespace {

constexpr const char* kWords = "words";

std::string shown_name(const std::string& names) {
  const size_t comma = names.find(',');
  if (comma == std::string::npos) return "--" + names;
  return fmt::format("-{}, --{}", names.substr(comma + 1), names.substr(0, comma));
}

Options::Setter with_name(const std::string& names, const Options::Setter& set) {
  return [name = shown_name(names), set](const std::string& text) {
    try {
      set(text);
    } catch (const UsageError& error) {
      throw UsageError(name + ": " + error.what());
    }
  };
}

// Takes everything from the first word that is no option.
std::vector<po::option> take_program(std::vector<std::string>& rest) {
  std::vector<po::option> taken;
  if (rest.empty() || (rest[0].size() > 1 && rest[0][0] == '-' && rest[0] != "--")) return taken;
  if (rest[0] == "--") rest.erase(rest.begin());
  for (const std::string& word : rest) {
    po::option option;
    option.value = {word};
    option.original_tokens = {word};
    taken.push_back(option);
  }
  rest.clear();
  return taken;
}

}  // namespace

Options::Options(const std::string& usage, const std::string& about)
    : impl_(std::make_unique<Impl>()) {
  impl_->usage = usage;
  impl_->about = about;
  impl_->known.add_options()("help,h", "show this text");
  impl_->names.emplace_back("help");
}

Options::~Options() = default;

void Options::flag(const std::string& names, const std::string& help, bool& target) {
  impl_->add(names, po::bool_switch(&target), help);
}

void Options::value(const std::string& names, const std::string& metavar, const std::string& help,
                    const Setter& set) {
  impl_->add(names, po::value<std::string>()->value_name(metavar)->notifier(with_name(names, set)),
             help);
}

void Options::list(const std::string& names, const std::string& metavar, const std::string& help,
                   const Setter& set) {
  const Setter named = with_name(names, set);
  impl_->add(names,
             po::value<std::vector<std::string>>()->value_name(metavar)->composing()->notifier(
                 [named](const std::vector<std::string>& texts) {
                   for (const std::string& text : texts) named(text);
                 }),
             help);
}

void Options::Impl::unknown(const std::string& option) const {
  std::vector<std::string> dashed;
  for (const std::string& name : names) dashed.push_back("--" + name);
  const std::vector<std::string_view> views(dashed.begin(), dashed.end());
  throw UsageError(fmt::format("unknown option '{}'{}", option, did_you_mean(option, views)));
}

void Options::Impl::read(const Words& given, Rest rest) {
  po::options_description all;
  all.add(known);
  all.add_options()(kWords, po::value<Words>()->composing());
  po::positional_options_description positional;
  positional.add(kWords, -1);
  po::command_line_parser parser(given);
  // No abbreviations: a new option must not change the meaning of an old command line.
  parser.options(all)
      .positional(positional)
      .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing);
  if (rest == Rest::kProgram) parser.extra_style_parser(take_program);
  po::store(parser.run(), found);
}

bool Options::parse(const Words& words, Rest rest) {
  try {
    impl_->read(words, rest);
    if (impl_->found.count("help") != 0) {
      fmt::print("Usage: {}\n\n{}\n\n", impl_->usage, impl_->about);
      std::ostringstream text;
      text << impl_->known;
      fmt::print("{}", text.str());
      return false;
    }
    po::notify(impl_->found);
  } catch (const po::unknown_option& error) {
    impl_->unknown(error.get_option_name());
  } catch (const po::error& error) {
    throw UsageError(error.what());
  }
  if (impl_->found.count(kWords) != 0) impl_->words = impl_->found[kWords].as<Words>();
  return true;
}

const Words& Options::words() const { return impl_->words; }

bool Options::given(const std::string& long_name) const {
  const auto found = impl_->found.find(long_name);
  return found != impl_->found.end() && !found->second.defaulted();
}

Words Options::given() const {
  Words names;
  for (const auto& [name, value] : impl_->found) {
    if (name != kWords && !value.defaulted()) names.push_back(name);
  }
  return names;
}

uint64_t parse_count(const std::string& text, uint64_t low, uint64_t high) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < low || number > high) {
    throw UsageError(fmt::format("'{}' is not a number from {} to {}", text, low, high));
  }
  return number;
}

Words parse_list(const std::string& text) {
  Words list;
  for (size_t begin = 0; !text.empty() && begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    list.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return list;
}

uint64_t parse_size(const std::string& text) {
  static constexpr std::string_view kUnits = "KMGT";
  constexpr uint64_t kMost = uint64_t{1} << 46;
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  std::string_view unit(stop, static_cast<size_t>(end - stop));
  unsigned shift = 0;
  if (!unit.empty()) {
    const size_t power = kUnits.find(static_cast<char>(std::toupper(unit[0])));
    if (power != std::string_view::npos) {
      shift = 10 * (static_cast<unsigned>(power) + 1);
      unit.remove_prefix(1);
      if (unit == "iB") unit = {};
    }
  }
  if (error != std::errc() || !unit.empty() || number == 0 || number > (kMost >> shift)) {
    throw UsageError(fmt::format("'{}' is not a size like 8, 1K or 64M", text));
  }
  return number << shift;
}

namespace {

struct Unit {
  std::string_view name;
  double seconds;
};

/// `wrong` is the end of the message.
std::chrono::nanoseconds parse_span(const std::string& text, std::span<const Unit> units,
                                    const char* wrong) {
  constexpr double kYear = 365.0 * 24 * 3600;
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const std::string_view name(stop, static_cast<size_t>(end - stop));
  const auto unit = std::find_if(units.begin(), units.end(),
                                 [name](const Unit& each) { return each.name == name; });
  const double seconds = unit == units.end() ? 0 : number * unit->seconds;
  if (error != std::errc() || !(seconds >= 1e-9 && seconds <= kYear)) {
    throw UsageError(fmt::format("'{}' is not {}", text, wrong));
  }
  return std::chrono::nanoseconds(static_cast<int64_t>(seconds * 1e9));
}

}  // namespace

std::chrono::nanoseconds parse_seconds(const std::string& text) {
  static constexpr Unit kUnits[] = {{"", 1}};
  return parse_span(text, kUnits, "a number of seconds above 0");
}

std::chrono::nanoseconds parse_time(const std::string& text) {
  static constexpr Unit kUnits[] = {{"", 1}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
  return parse_span(text, kUnits, "a time like 500ms, 60s or 2m");
}

}  // namespace weft::tools
