// SPDX-License-Identifier: Apache-2.0
#include "config/policy_file.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>

#include "base/error.hpp"
#include "base/shortage.hpp"

namespace weft::config {
namespace {

[[noreturn]] void cannot_read(const std::filesystem::path& file, const std::string& why) {
  throw Error(HCCL_E_OPEN_FILE_FAILURE, "cannot read the policy " + file.string() + ": " + why);
}

}  // namespace

std::string read_policy_file(const std::filesystem::path& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  if (error) cannot_read(file, error.message());
  // Opening a pipe or a device could block.
  if (!std::filesystem::is_regular_file(status)) cannot_read(file, "it is not a regular file");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) cannot_read(file, explain_errno(errno));
  std::string text(kMaxPolicyBytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) cannot_read(file, explain_errno(errno));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMaxPolicyBytes) {
    throw Error(HCCL_E_PARA, file.string() + ": larger than 1 MiB: this is no policy file");
  }
  return text;
}

}  // namespace weft::config
