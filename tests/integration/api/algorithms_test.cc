// SPDX-License-Identifier: Apache-2.0
// The table of algorithms that these tests run is complete: it is what the plugins offer.
#include <array>
#include <cstdio>
#include <memory>
#include <regex>
#include <set>
#include <sstream>

#include "operators.hpp"

namespace weft::test {
namespace {

/// What `weft plugins -v` prints.
std::string offered() {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(WEFT_PROGRAM " plugins -v", "r"), pclose);
  std::string text;
  std::array<char, 4096> portion;
  while (const size_t size = fread(portion.data(), 1, portion.size(), pipe.get())) {
    text.append(portion.data(), size);
  }
  return text;
}

std::string row(const std::string& algorithm, const std::string& operation, bool rank_order) {
  return algorithm + ": " + operation + (rank_order ? ", in rank order" : "");
}

TEST(Algorithms, AreAllInTheTable) {
  std::set<std::string> listed;
  for (int op = 0; op <= static_cast<int>(Op::kAllToAllVC); ++op) {
    for (const Algorithm& algorithm : algorithms_of(static_cast<Op>(op))) {
      listed.insert(row(algorithm.name, operation_of(static_cast<Op>(op)), algorithm.rank_order));
    }
  }
  const std::regex pattern(R"(    (\w+\.\w+): (\w+), \d+ ranks or more(, in rank order)?.*)");
  std::set<std::string> found;
  std::istringstream lines(offered());
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, pattern) || match[2] == "barrier") continue;
    found.insert(row(match[1], match[2], match[3].matched));
  }
  EXPECT_EQ(listed, found);
}

}  // namespace
}  // namespace weft::test
