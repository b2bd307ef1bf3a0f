// SPDX-License-Identifier: Apache-2.0
#include "control/roll_call.hpp"

#include <algorithm>
#include <utility>

namespace weft::control {
namespace {

std::string fact_of(const Hello& hello, const std::string& name) {
  const auto found = std::ranges::find(hello.facts, name, &Fact::name);
  return found == hello.facts.end() ? "nothing" : "'" + found->value + "'";
}

}  // namespace

std::string describe_rank(std::uint32_t rank, const std::string& host, std::int32_t pid) {
  return "rank " + std::to_string(rank) + " (process " + std::to_string(pid) + " on host " + host +
         ")";
}

std::string list_ranks(const std::vector<std::uint32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t first = 0, last = 0; first < ranks.size(); first = last + 1) {
    last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (first != 0) text += ", ";
    text += std::to_string(ranks[first]);
    if (last != first) text.append("-").append(std::to_string(ranks[last]));
  }
  return text;
}

std::uint32_t RollCall::ranks() const noexcept {
  return entries_.empty() ? 0 : entries_.begin()->second.hello.ranks;
}

std::string RollCall::describe(std::uint32_t rank) const {
  const auto found = entries_.find(rank);
  if (found == entries_.end()) return list_ranks({rank});
  return describe_rank(rank, found->second.hello.host, found->second.hello.pid);
}

std::optional<Failure> RollCall::add(HelloMessage message) {
  const Hello& hello = message.hello;
  const std::string newcomer = describe_rank(hello.rank, hello.host, hello.pid);
  if (!entries_.empty() && hello.ranks != ranks())
    return Failure{HCCL_E_PARA, "the ranks disagree about their number: nRanks is " +
                                    std::to_string(ranks()) + " on " +
                                    describe(entries_.begin()->first) + " and " +
                                    std::to_string(hello.ranks) + " on " + newcomer +
                                    "; give the same nRanks on all ranks"};
  if (entries_.contains(hello.rank))
    return Failure{HCCL_E_PARA, "two processes or threads claim one rank: " + describe(hello.rank) +
                                    " and " + newcomer +
                                    "; give every one its own rank from 0 to nRanks - 1"};
  const std::uint32_t rank = hello.rank;
  entries_.emplace(rank, std::move(message));
  return {};
}

// Empty if all values are equal; else which ranks have which.
std::string RollCall::difference(const std::string& what,
                                 const std::map<std::uint32_t, std::string>& values) const {
  std::map<std::string, std::vector<std::uint32_t>> ranks_by_value;
  for (const auto& [rank, value] : values) ranks_by_value[value].push_back(rank);
  if (ranks_by_value.size() <= 1) return {};
  std::string text;
  for (const auto& [value, ranks] : ranks_by_value) {
    text += text.empty() ? what + " is " : " and ";
    text += value + " on ";
    text += ranks.size() == 1
                ? describe(ranks.front())
                : list_ranks(ranks) + " (the first is " + describe(ranks.front()) + ")";
  }
  return text;
}

std::optional<Failure> RollCall::differences() const {
  std::vector<std::string> fact_names;
  std::map<std::uint32_t, std::string> values;
  std::size_t bytes = 0;
  for (const auto& [rank, entry] : entries_) {
    values[rank] = "'" + entry.hello.name + "'";
    bytes += entry.hello.blob.size();
    for (const Fact& fact : entry.hello.facts)
      if (std::ranges::count(fact_names, fact.name) == 0) fact_names.push_back(fact.name);
  }
  std::string text = difference("the communicator's name", values);
  for (const std::string& name : fact_names) {
    for (const auto& [rank, entry] : entries_) values[rank] = fact_of(entry.hello, name);
    const std::string found = difference(name, values);
    if (!found.empty()) text += (text.empty() ? "" : "; ") + found;
  }
  if (!text.empty())
    return Failure{HCCL_E_PARA, "the ranks are set up differently: " + text +
                                    "; give the same configuration to all ranks"};
  if (bytes > kMaxGathered)
    return Failure{HCCL_E_PARA, "the ranks exchange " + std::to_string(bytes) +
                                    " bytes at creation, more than the limit of " +
                                    std::to_string(kMaxGathered)};
  return {};
}

Failure RollCall::missing(std::chrono::milliseconds waited) const {
  std::vector<std::uint32_t> absent;
  for (std::uint32_t rank = 0; rank < ranks(); ++rank)
    if (!entries_.contains(rank)) absent.push_back(rank);
  return {HCCL_E_TIMEOUT,
          list_ranks(absent) + " of " + std::to_string(ranks()) + " did not join within " +
              std::to_string(waited.count()) +
              " ms; see why they did not start, or raise HCCL_CONNECT_TIMEOUT if they need longer"};
}

WelcomeMessage RollCall::take_welcome() {
  WelcomeMessage welcome;
  for (auto& [rank, entry] : entries_) {
    Hello& hello = entry.hello;
    welcome.peers.push_back(
        {hello.host, hello.pid, hello.device, std::move(hello.blob), hello.process});
    welcome.in_root_process.push_back(entry.in_root_process);
  }
  return welcome;
}

}  // namespace weft::control
