// SPDX-License-Identifier: Apache-2.0
// docs/environment.md has a row for every variable of the table, as the table says it, and no
// other.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "config/variables.hpp"

namespace weft::config {
namespace {

std::string row_of(const Variable& variable) {
  const auto cell = [](std::string_view text) { return " " + std::string(text) + " |"; };
  return "| `" + std::string(variable.name) + "` |" + cell(variable.values) +
         cell(variable.fallback) + cell(effect_name(variable.effect)) + cell(variable.meaning);
}

TEST(EnvironmentPage, IsTheTable) {
  std::set<std::string> page;
  std::ifstream file(WEFT_ENVIRONMENT_PAGE);
  for (std::string line; std::getline(file, line);) {
    const size_t name = line.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789", 3);
    if (line.starts_with("| `") && line.find("` |", 3) == name) page.insert(line);
  }
  std::string missing;
  for (const Variable& each : variables()) {
    if (page.erase(row_of(each)) == 0) missing += row_of(each) + "\n";
  }
  EXPECT_EQ(missing, "") << "docs/environment.md lacks these rows";
  for (const std::string& row : page) ADD_FAILURE() << "docs/environment.md has too much: " << row;
}

TEST(EnvironmentPage, SaysWhichVariablesMayBeEmpty) {
  std::ifstream file(WEFT_ENVIRONMENT_PAGE);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const size_t from = text.find("An empty value counts as unset");
  const size_t to = text.find("\n\n", from);
  ASSERT_NE(from, std::string::npos);
  const std::string paragraph = text.substr(from, to - from);
  for (const Variable& each : variables()) {
    if (each.effect == Effect::kNotRead || std::string_view(each.name).starts_with("WEFT_") ||
        each.read == nullptr) {
      continue;
    }
    EXPECT_EQ(paragraph.find("`" + std::string(each.name) + "`") != std::string::npos,
              each.empty_is_unset)
        << each.name;
  }
}

}  // namespace
}  // namespace weft::config
