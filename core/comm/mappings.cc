// SPDX-License-Identifier: Apache-2.0
#include "comm/mappings.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/shortage.hpp"

namespace weft::comm {
namespace {

constexpr uint64_t kMegabyte = 1 << 20;

/// Where the stack of the main thread may grow down to, if the rest of the address space lets it.
uint64_t end_of_growth(uint64_t begin, uint64_t end) {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return begin;
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > end) return 0;
  return std::min(begin, end - limit.rlim_cur);
}

}  // namespace

void Mappings::add_line(const char* line) {
  uint64_t begin = 0;
  uint64_t end = 0;
  char access[5] = {};
  if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &begin, &end, access) != 3) return;
  // It grows when it is touched: a large array on it may be good, but not be there yet. The kernel
  // keeps a megabyte free below it.
  if (std::strstr(line, "[stack]") != nullptr) {
    const uint64_t before = areas_.empty() ? 0 : areas_.back().end + kMegabyte;
    begin = std::min(begin, std::max(before, end_of_growth(begin, end)));
  }
  areas_.push_back({begin, end, access[0] == 'r', access[1] == 'w'});
}

Mappings Mappings::read() {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen("/proc/self/maps", "re"),
                                                   &std::fclose);
  if (file == nullptr) {
    throw Error(HCCL_E_SYSCALL,
                std::string("WEFT_CHECK=memory needs /proc/self/maps: ") + explain_errno(errno));
  }
  Mappings made;
  char line[512];  // file names may be longer
  bool whole = true;
  while (std::fgets(line, sizeof line, file.get()) != nullptr) {
    if (whole) made.add_line(line);
    whole = std::strchr(line, '\n') != nullptr;
  }
  return made;
}

std::optional<Mappings::Bad> Mappings::first_bad(uint64_t address, uint64_t bytes,
                                                 bool written) const {
  const uint64_t end = address + bytes;
  if (end < address) return Bad{address, Why::kNothing};
  auto area = std::upper_bound(areas_.begin(), areas_.end(), address,
                               [](uint64_t wanted, const Area& each) { return wanted < each.end; });
  for (uint64_t at = address; at < end; at = area->end, ++area) {
    if (area == areas_.end() || at < area->begin) return Bad{at, Why::kNothing};
    if (!area->readable && !area->writable) return Bad{at, Why::kReserved};
    if (written && !area->writable) return Bad{at, Why::kReadOnly};
    if (!written && !area->readable) return Bad{at, Why::kReserved};
  }
  return std::nullopt;
}

}  // namespace weft::comm
