// SPDX-License-Identifier: Apache-2.0
#include "tune/files.hpp"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "command.hpp"
#include "process.hpp"

namespace weft::tools {
namespace {

namespace fs = std::filesystem;

fs::path folder_of(const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  return folder.empty() ? "." : folder;
}

[[noreturn]] void fail_exists(const std::string& file) {
  throw Failure(fmt::format("{} is there already: take another name, or --force", file));
}

/// 0, or errno.
int fill(int fd, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = write(fd, text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) return errno;
    if (wrote > 0) done += size_t(wrote);
  }
  const mode_t mask = umask(0);
  umask(mask);
  return fchmod(fd, 0666 & ~mask) == 0 && fsync(fd) == 0 ? 0 : errno;
}

}  // namespace

void check_writable(const std::string& file, bool replace) {
  std::error_code ignored;
  const fs::path folder = folder_of(file);
  if (!fs::is_directory(folder, ignored)) {
    throw Failure(fmt::format("{}: there is no folder {}", file, folder.string()));
  }
  if (fs::is_directory(file, ignored)) throw Failure(fmt::format("{} is a folder", file));
  const fs::file_status there = fs::symlink_status(file, ignored);
  if (!replace && fs::exists(there)) fail_exists(file);
  if (fs::exists(there) && !fs::is_regular_file(there)) {
    throw Failure(fmt::format("{} is a link, a pipe or a device, and would become a file", file));
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    throw Failure(fmt::format("{}: nothing can be written there: {}", file, std::strerror(errno)));
  }
}

void write_whole(const std::string& file, const std::string& text, bool replace) {
  std::string part = file + ".XXXXXX";
  const Fd fd(mkstemp(part.data()));
  if (!fd) throw Failure(fmt::format("cannot write {}: {}", file, std::strerror(errno)));
  int error = fill(fd.get(), text);
  if (error == 0) {
    // A link, unlike a new name, never takes the place of a file.
    const int done =
        replace ? rename(part.c_str(), file.c_str()) : link(part.c_str(), file.c_str());
    error = done == 0 ? 0 : errno;
  }
  unlink(part.c_str());
  if (error == EEXIST) fail_exists(file);
  if (error != 0) throw Failure(fmt::format("cannot write {}: {}", file, std::strerror(error)));
}

}  // namespace weft::tools
