// SPDX-License-Identifier: Apache-2.0
// Finds the size of the last-level cache.
#include "src/cache.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>

namespace weft::kernels {
namespace {

constexpr size_t kGuess = size_t{32} << 20;

/// Reads "32768K" of the kernel's description of a cache; 0 if there is none.
size_t described_bytes(const char* path) noexcept {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[32];
  const ssize_t length = read(file, text, sizeof(text) - 1);
  close(file);
  if (length <= 0) return 0;
  text[length] = '\0';
  char* unit = nullptr;
  const size_t number = std::strtoul(text, &unit, 10);
  if (*unit == 'K') return number << 10;
  return *unit == 'M' ? number << 20 : number;
}

}  // namespace

size_t last_level_cache_bytes() noexcept {
  // Not sysconf() first: on AMD processors it adds up the caches of a whole package, of which a
  // core can use one only.
  const size_t described = described_bytes("/sys/devices/system/cpu/cpu0/cache/index3/size");
  if (described != 0) return described;
#ifdef _SC_LEVEL3_CACHE_SIZE
  const long configured = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (configured > 0) return static_cast<size_t>(configured);
#endif
  return kGuess;
}

}  // namespace weft::kernels
