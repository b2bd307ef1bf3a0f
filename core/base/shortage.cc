// SPDX-License-Identifier: Apache-2.0
#include "base/shortage.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <system_error>

namespace weft {

std::string explain_errno(int error) {
  const std::string text = std::generic_category().message(error);
  if (error == EMFILE) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    return text + ": this process may have " + std::to_string(limit.rlim_cur) +
           " file descriptors; raise `ulimit -n`";
  }
  if (error == ENFILE) {
    return text + ": the host has no file descriptor left; end programs or raise fs.file-max";
  }
  return text;
}

std::string explain_no_thread(int error) {
  return std::generic_category().message(error) +
         ": the limit of threads is reached, or there is no memory for one; raise `ulimit -u` or "
         "the limit of processes of the container, or have fewer ranks in one process";
}

}  // namespace weft
