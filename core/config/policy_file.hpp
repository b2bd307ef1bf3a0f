// SPDX-License-Identifier: Apache-2.0
// Gets the text of a policy file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace weft::config {

/// Far above any policy; a larger file is something else.
inline constexpr uint64_t kMaxPolicyBytes = 1ULL << 20;

/// The whole text. Throws Error: HCCL_E_OPEN_FILE_FAILURE if it cannot be read, HCCL_E_PARA if it
/// is too large.
[[nodiscard]] std::string read_policy_file(const std::filesystem::path& file);

}  // namespace weft::config
