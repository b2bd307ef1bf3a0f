// SPDX-License-Identifier: Apache-2.0
#include "base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace weft::log {
namespace {

spdlog::level::level_enum to_spdlog(Level level) noexcept {
  switch (level) {
    case Level::kDebug:
      return spdlog::level::debug;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kWarn:
      return spdlog::level::warn;
    case Level::kError:
      break;
  }
  return spdlog::level::err;
}

struct Loggers {
  spdlog::logger usual;
  spdlog::logger asked_for;
};

Loggers* make_loggers() {
  const auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto* made = new Loggers{{"weft", sink}, {"weft", sink}};
  sink->set_pattern("[weft %P %L] %v");
  made->usual.set_level(spdlog::level::warn);
  const char* wanted = std::getenv("WEFT_LOG");
  if (wanted == nullptr) return made;
  const auto level = spdlog::level::from_str(wanted);
  if (level != spdlog::level::off || std::string_view(wanted) == "off") {
    made->usual.set_level(level);
    if (level == spdlog::level::off) made->asked_for.set_level(level);
  } else {
    made->usual.warn("WEFT_LOG=\"{}\" is none of off, error, warn, info, debug; warn is used",
                     wanted);
  }
  return made;
}

Loggers& loggers() {
  // Leaked on purpose: threads may still log while the process exits.
  static Loggers* const instance = make_loggers();
  return *instance;
}

}  // namespace

bool enabled(Level level) noexcept { return loggers().usual.should_log(to_spdlog(level)); }

void write(Level level, std::string_view text) noexcept {
  loggers().usual.log(to_spdlog(level), "{}", text);
}

void tell(std::string_view text) noexcept { loggers().asked_for.info("{}", text); }

}  // namespace weft::log
