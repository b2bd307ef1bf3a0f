// SPDX-License-Identifier: Apache-2.0
#include "plugin/param.hpp"

#include <algorithm>
#include <charconv>

namespace weft::plugin {
namespace {

std::string in_quotes(const std::string& name) { return '"' + name + '"'; }

std::optional<int64_t> index_of(const Param& param, std::string_view name) {
  const auto found = std::find(param.choices.begin(), param.choices.end(), name);
  if (found == param.choices.end()) return std::nullopt;
  return found - param.choices.begin();
}

}  // namespace

std::optional<int64_t> value_of(const Param& param, const Written& written) {
  if (param.type == WEFT_PARAM_BOOLEAN) {
    const bool* value = std::get_if<bool>(&written);
    return value == nullptr ? std::nullopt : std::optional<int64_t>(*value ? 1 : 0);
  }
  if (param.type == WEFT_PARAM_CHOICE) {
    const std::string* name = std::get_if<std::string>(&written);
    return name == nullptr ? std::nullopt : index_of(param, *name);
  }
  const int64_t* number = std::get_if<int64_t>(&written);
  if (number == nullptr || *number < param.min || *number > param.max) return std::nullopt;
  return *number;
}

Written written(std::string_view word) {
  if (word == "true" || word == "false") return word == "true";
  int64_t number = 0;
  const char* last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, number);
  if (error == std::errc() && end == last && !word.empty()) return number;
  return std::string(word);
}

Written written(const Param& param, int64_t value) {
  if (param.type == WEFT_PARAM_BOOLEAN) return value != 0;
  if (param.type == WEFT_PARAM_CHOICE) return param.choices.at(std::size_t(value));
  return value;
}

std::string value_text(const Param& param, int64_t value) {
  return value_text(written(param, value));
}

std::string value_text(const Written& written) {
  if (const bool* value = std::get_if<bool>(&written)) return *value ? "true" : "false";
  if (const int64_t* number = std::get_if<int64_t>(&written)) return std::to_string(*number);
  return in_quotes(std::get<std::string>(written));
}

std::string_view type_name(const Param& param) {
  if (param.type == WEFT_PARAM_BOOLEAN) return "boolean";
  return param.type == WEFT_PARAM_CHOICE ? "choice" : "integer";
}

std::string range_text(const Param& param) {
  if (param.type == WEFT_PARAM_BOOLEAN) return "true or false";
  if (param.type == WEFT_PARAM_INTEGER) {
    return std::to_string(param.min) + ".." + std::to_string(param.max);
  }
  std::string all;
  for (const std::string& name : param.choices) all += (all.empty() ? "" : ", ") + in_quotes(name);
  return all;
}

}  // namespace weft::plugin
