// SPDX-License-Identifier: Apache-2.0
#include "comm/trace.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/log.hpp"
#include "base/shortage.hpp"

namespace weft::comm {
namespace {

/// -1: no trace.
int open_trace() {
  const char* name = std::getenv("WEFT_TRACE");
  if (name == nullptr || *name == '\0') return -1;
  if (std::string_view(name) == "stderr") return STDERR_FILENO;
  // Appending: the ranks of a host may share one file.
  const int file = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) {
    log::warn(std::string("WEFT_TRACE=") + name + ": " + explain_errno(errno) +
              "; no trace is written");
  }
  return file;
}

int trace_file() noexcept {
  static const int file = open_trace();
  return file;
}

}  // namespace

bool tracing() noexcept { return trace_file() >= 0; }

void write_trace(std::string_view line) noexcept {
  if (write(trace_file(), line.data(), line.size()) < 0) {
    // The disk is full: calls matter more than what is told about them.
    return;
  }
}

}  // namespace weft::comm
