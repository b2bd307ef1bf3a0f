// SPDX-License-Identifier: Apache-2.0
// libmsprofiler.so: ranges and marks of the program, written as a trace that a browser can show.
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "acl/acl_host.h"
#include "acl/acl_prof.h"

struct aclprofConfig {
  uint64_t data_types;
};

namespace {

using Json = nlohmann::json;

struct Stamp {
  std::string message;
};

/// A range that has begun.
struct Open {
  std::string message;
  int64_t begin_ns;
  long thread;
};

struct Profiler {
  std::mutex mutex;
  bool initialised = false;
  std::string folder;
  std::unordered_set<const aclprofConfig*> configs;
  std::unordered_set<const Stamp*> stamps;
  const aclprofConfig* started = nullptr;
  uint32_t last_range = 0;
  std::map<uint32_t, Open> ranges;           // by range id
  std::map<long, std::vector<Open>> stacks;  // pushed ranges by thread
  Json events = Json::array();
};

Profiler& profiler() {
  static auto& one = *new Profiler;  // never destroyed: may be used during exit
  return one;
}

[[gnu::format(printf, 2, 3)]] aclError fail(aclError code, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  aclhostSetErrorText((std::string(text) + " [" + std::to_string(code) + "]").c_str());
  return code;
}

// Runs `body` with the profiler locked; nothing is thrown across the C boundary.
template <class Body>
aclError locked(const char* where, Body&& body) noexcept {
  try {
    Profiler& one = profiler();
    const std::lock_guard lock(one.mutex);
    return body(one);
  } catch (const std::exception& e) {
    aclhostSetErrorText((std::string(where) + ": " + e.what()).c_str());
    return ACL_ERROR_BAD_ALLOC;
  }
}

int64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

long this_thread() { return gettid(); }

bool records(const Profiler& one) {
  return one.started != nullptr && (one.started->data_types & ACL_PROF_MSPROFTX) != 0;
}

// An entry of the trace event format; times in microseconds.
Json event(const char* phase, const std::string& message, int64_t at_ns, long thread) {
  return {{"ph", phase},
          {"name", message},
          {"ts", static_cast<double>(at_ns) / 1e3},
          {"pid", getpid()},
          {"tid", thread}};
}

void end_range(Profiler& one, const Open& range) {
  Json entry = event("X", range.message, range.begin_ns, range.thread);
  entry["dur"] = static_cast<double>(now_ns() - range.begin_ns) / 1e3;
  one.events.push_back(std::move(entry));
}

aclError find_stamp(const Profiler& one, void* handle, const char* where, Stamp** stamp) {
  *stamp = static_cast<Stamp*>(handle);
  if (one.stamps.contains(*stamp)) return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM, "%s: %p is no stamp; call aclprofCreateStamp", where,
              handle);
}

aclError need_init(const Profiler& one, const char* where) {
  if (one.initialised) return ACL_SUCCESS;
  return fail(ACL_ERROR_PROF_NOT_RUN, "%s: call aclprofInit first", where);
}

aclError write(const Profiler& one, const char* where) {
  if (!records(one)) return ACL_SUCCESS;
  const std::string path = one.folder + "/weft_prof_" + std::to_string(getpid()) + ".json";
  std::ofstream file(path);
  file << Json{{"traceEvents", one.events}}.dump(1, ' ', false, Json::error_handler_t::replace)
       << '\n';
  file.close();
  if (file) return ACL_SUCCESS;
  return fail(ACL_ERROR_WRITE_FILE, "%s: cannot write %s", where, path.c_str());
}

aclError stop(Profiler& one, const char* where) {
  const aclError error = write(one, where);
  one.started = nullptr;
  return error;
}

aclError init(Profiler& one, const char* path, size_t length) {
  constexpr const char* kWhere = "aclprofInit";
  if (path == nullptr || length == 0) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: the path of the result folder is empty", kWhere);
  }
  if (one.initialised) {
    return fail(ACL_ERROR_PROF_ALREADY_RUN, "%s: profiling runs; call aclprofFinalize first",
                kWhere);
  }
  one.folder.assign(path, length);
  std::error_code error;
  std::filesystem::create_directories(one.folder, error);
  if (!std::filesystem::is_directory(one.folder, error)) {
    return fail(ACL_ERROR_INVALID_FILE, "%s: cannot make the folder %s", kWhere,
                one.folder.c_str());
  }
  one.events = Json::array();
  one.initialised = true;
  return ACL_SUCCESS;
}

}  // namespace

aclError aclprofInit(const char* profilerResultPath, size_t length) {
  return locked("aclprofInit",
                [&](Profiler& one) { return init(one, profilerResultPath, length); });
}

aclError aclprofFinalize() {
  return locked("aclprofFinalize", [](Profiler& one) -> aclError {
    if (const aclError error = need_init(one, "aclprofFinalize")) return error;
    one.initialised = false;
    return stop(one, "aclprofFinalize");
  });
}

aclprofConfig* aclprofCreateConfig(uint32_t* deviceIdList, uint32_t deviceNums,
                                   aclprofAicoreMetrics, const aclprofAicoreEvents*,
                                   uint64_t dataTypeConfig) {
  aclprofConfig* config = nullptr;
  locked("aclprofCreateConfig", [&](Profiler& one) -> aclError {
    if ((deviceIdList == nullptr) != (deviceNums == 0)) {
      return fail(ACL_ERROR_INVALID_PARAM,
                  "aclprofCreateConfig: deviceIdList and deviceNums contradict each other");
    }
    auto made = std::make_unique<aclprofConfig>(aclprofConfig{dataTypeConfig});
    one.configs.insert(made.get());
    config = made.release();
    return ACL_SUCCESS;
  });
  return config;
}

aclError aclprofDestroyConfig(const aclprofConfig* profilerConfig) {
  constexpr const char* kWhere = "aclprofDestroyConfig";
  return locked(kWhere, [&](Profiler& one) -> aclError {
    if (one.configs.count(profilerConfig) == 0 || one.started == profilerConfig) {
      return fail(ACL_ERROR_INVALID_PARAM, "%s: %p is no configuration, or it is started", kWhere,
                  static_cast<const void*>(profilerConfig));
    }
    one.configs.erase(profilerConfig);
    delete profilerConfig;
    return ACL_SUCCESS;
  });
}

aclError aclprofStart(const aclprofConfig* profilerConfig) {
  constexpr const char* kWhere = "aclprofStart";
  return locked(kWhere, [&](Profiler& one) -> aclError {
    if (one.configs.count(profilerConfig) == 0) {
      return fail(ACL_ERROR_INVALID_PARAM, "%s: %p is no configuration", kWhere,
                  static_cast<const void*>(profilerConfig));
    }
    if (const aclError error = need_init(one, kWhere)) return error;
    if (one.started != nullptr) {
      return fail(ACL_ERROR_PROF_ALREADY_RUN, "%s: a configuration is started; stop it first",
                  kWhere);
    }
    one.started = profilerConfig;
    return ACL_SUCCESS;
  });
}

aclError aclprofStop(const aclprofConfig* profilerConfig) {
  constexpr const char* kWhere = "aclprofStop";
  return locked(kWhere, [&](Profiler& one) -> aclError {
    if (profilerConfig == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: NULL", kWhere);
    if (one.started != profilerConfig) {
      return fail(ACL_ERROR_PROF_NOT_RUN, "%s: this configuration is not started", kWhere);
    }
    return stop(one, kWhere);
  });
}

void* aclprofCreateStamp() {
  Stamp* stamp = nullptr;
  locked("aclprofCreateStamp", [&](Profiler& one) -> aclError {
    auto made = std::make_unique<Stamp>();
    one.stamps.insert(made.get());
    stamp = made.release();
    return ACL_SUCCESS;
  });
  return stamp;
}

void aclprofDestroyStamp(void* stamp) {
  locked("aclprofDestroyStamp", [&](Profiler& one) -> aclError {
    Stamp* found = nullptr;
    if (const aclError error = find_stamp(one, stamp, "aclprofDestroyStamp", &found)) return error;
    one.stamps.erase(found);
    delete found;
    return ACL_SUCCESS;
  });
}

aclError aclprofSetStampTraceMessage(void* stamp, const char* msg, uint32_t msgLen) {
  constexpr const char* kWhere = "aclprofSetStampTraceMessage";
  return locked(kWhere, [&](Profiler& one) -> aclError {
    Stamp* found = nullptr;
    if (const aclError error = find_stamp(one, stamp, kWhere, &found)) return error;
    if (msg == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: msg is NULL", kWhere);
    found->message.assign(msg, msgLen);
    return ACL_SUCCESS;
  });
}

aclError aclprofPush(void* stamp) {
  return locked("aclprofPush", [&](Profiler& one) -> aclError {
    Stamp* found = nullptr;
    if (const aclError error = find_stamp(one, stamp, "aclprofPush", &found)) return error;
    one.stacks[this_thread()].push_back({found->message, now_ns(), this_thread()});
    return ACL_SUCCESS;
  });
}

aclError aclprofPop() {
  return locked("aclprofPop", [](Profiler& one) -> aclError {
    const auto it = one.stacks.find(this_thread());
    if (it == one.stacks.end()) {
      return fail(ACL_ERROR_INVALID_PARAM, "aclprofPop: no range is pushed on this thread");
    }
    if (records(one)) end_range(one, it->second.back());
    it->second.pop_back();
    if (it->second.empty()) one.stacks.erase(it);
    return ACL_SUCCESS;
  });
}

aclError aclprofRangeStart(void* stamp, uint32_t* rangeId) {
  constexpr const char* kWhere = "aclprofRangeStart";
  return locked(kWhere, [&](Profiler& one) -> aclError {
    Stamp* found = nullptr;
    if (const aclError error = find_stamp(one, stamp, kWhere, &found)) return error;
    if (rangeId == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: rangeId is NULL", kWhere);
    *rangeId = ++one.last_range;
    one.ranges[*rangeId] = {found->message, now_ns(), this_thread()};
    return ACL_SUCCESS;
  });
}

aclError aclprofRangeStop(uint32_t rangeId) {
  return locked("aclprofRangeStop", [&](Profiler& one) -> aclError {
    const auto it = one.ranges.find(rangeId);
    if (it == one.ranges.end()) {
      return fail(ACL_ERROR_INVALID_PARAM, "aclprofRangeStop: range %u is not started", rangeId);
    }
    if (records(one)) end_range(one, it->second);
    one.ranges.erase(it);
    return ACL_SUCCESS;
  });
}

aclError aclprofMark(void* stamp) {
  return locked("aclprofMark", [&](Profiler& one) -> aclError {
    Stamp* found = nullptr;
    if (const aclError error = find_stamp(one, stamp, "aclprofMark", &found)) return error;
    if (!records(one)) return ACL_SUCCESS;
    Json entry = event("i", found->message, now_ns(), this_thread());
    entry["s"] = "t";
    one.events.push_back(std::move(entry));
    return ACL_SUCCESS;
  });
}
