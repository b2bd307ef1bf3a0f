// SPDX-License-Identifier: Apache-2.0
#include "bench/complaint.hpp"

#include <fmt/core.h>

#include <cstring>
#include <string>
#include <string_view>

#include "acl/acl.h"
#include "hccl/hccl.h"

namespace weft::tools {

void complain(Team& team, uint32_t rank, const char* function, int code) {
  const char* message = aclGetRecentErrMsg();
  std::string_view detail = message == nullptr ? "" : message;
  const std::string own_name = fmt::format("{}: ", function);
  if (detail.starts_with(own_name)) detail.remove_prefix(own_name.size());
  const bool hccl = std::strncmp(function, "Hccl", 4) == 0;
  std::string text = fmt::format("{} failed with {}", function, code);
  if (hccl) text += fmt::format(" ({})", HcclGetErrorString(static_cast<HcclResult>(code)));
  if (!detail.empty()) text += fmt::format(": {}", detail);
  team.fail(rank, text);
}

}  // namespace weft::tools
