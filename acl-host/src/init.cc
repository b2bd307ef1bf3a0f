// SPDX-License-Identifier: Apache-2.0
// Start and end of ACL, versions, and the name of the SoC.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "context.hpp"

namespace weft::acl {
namespace {

using Json = nlohmann::json;

constexpr const char* kSocName = "Ascend910_9391";

// The release whose interface the headers have; nothing of that release is in here.
constexpr int32_t kMajor = 9;
constexpr int32_t kMinor = 1;
constexpr int32_t kRelease = 0;
constexpr const char* kVersion = "9.1.0";

constexpr std::string_view kPackages[] = {"cann",    "runtime", "compiler",   "hccl",
                                          "toolkit", "opp",     "opp_kernel", "driver"};

struct Init {
  std::recursive_mutex mutex;
  uint64_t references = 0;
  bool ended = false;        // finalised, and not initialised since
  bool configured = false;   // an aclInit with a file has succeeded
  size_t configuration = 0;  // hash of that file
};

Init& init_state() {
  static auto& state = *new Init;  // never destroyed: may be used during exit
  return state;
}

bool read_file(const char* path, std::string* text) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  text->assign(std::istreambuf_iterator<char>(file), {});
  return !file.bad();
}

// A value that may be written as a number or as text.
std::string text_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

aclError bad_value(const char* path, const char* key, const std::string& value, const char* good) {
  return fail(ACL_ERROR_INVALID_PARAM, "aclInit: %s: %s is \"%s\"; set it to %s", path, key,
              value.c_str(), good);
}

aclError apply_default_device(const char* path, const Json& settings) {
  const auto it = settings.find("default_device");
  if (it == settings.end()) return ACL_SUCCESS;
  const std::string value = text_of(*it);
  char* end = nullptr;
  const long device = std::strtol(value.c_str(), &end, 10);
  if (value.empty() || *end != '\0') {
    return bad_value(path, "defaultDevice.default_device", value, "the id of a device");
  }
  if (const aclError error = check_device(device, "aclInit")) return error;
  g_default_device = static_cast<int32_t>(device);
  return ACL_SUCCESS;
}

aclError apply(const char* path, const Json& settings) {
  if (const auto it = settings.find("err_msg_mode"); it != settings.end()) {
    const std::string mode = text_of(*it);
    if (mode != "0" && mode != "1") return bad_value(path, "err_msg_mode", mode, "0 or 1");
    set_process_wide_texts(mode == "1");
  }
  const auto it = settings.find("defaultDevice");
  if (it == settings.end() || !it->is_object()) return ACL_SUCCESS;
  return apply_default_device(path, *it);
}

aclError configure(Init& state, const char* path) {
  std::string text;
  if (!read_file(path, &text)) {
    return fail(ACL_ERROR_INVALID_FILE, "aclInit: cannot read %s: %s", path, strerror(errno));
  }
  const Json settings = Json::parse(text, nullptr, false);
  if (!settings.is_object()) {
    return fail(ACL_ERROR_PARSE_FILE, "aclInit: %s is not a JSON object", path);
  }
  const size_t hash = std::hash<std::string>{}(text);
  if (state.configured && state.configuration != hash) {
    return fail(ACL_ERROR_INVALID_PARAM,
                "aclInit: %s differs from the configuration this process began with; initialise "
                "again with the same content",
                path);
  }
  if (const aclError error = apply(path, settings)) return error;
  state.configured = true;
  state.configuration = hash;
  return ACL_SUCCESS;
}

aclError initialise(const char* path) {
  Init& state = init_state();
  const std::lock_guard lock(state.mutex);
  if (state.references > 0) {
    ++state.references;
    return ACL_ERROR_REPEAT_INITIALIZE;
  }
  if (path != nullptr && *path != '\0') {
    if (const aclError error = configure(state, path)) return error;
  }
  state.references = 1;
  state.ended = false;
  return ACL_SUCCESS;
}

aclError repeated_end(const char* where) noexcept {
  return fail(ACL_ERROR_REPEAT_FINALIZE, "%s: ACL has ended before; pair it with aclInit", where);
}

aclError check_package(const char* name, const void* output, const char* where) noexcept {
  if (name == nullptr || output == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", where,
                name == nullptr ? "pkgName" : "the output");
  }
  for (const std::string_view known : kPackages) {
    if (known == name) return ACL_SUCCESS;
  }
  return fail(ACL_ERROR_INVALID_PARAM, "%s: package \"%s\" does not exist; use runtime or hccl",
              where, name);
}

}  // namespace
}  // namespace weft::acl

using namespace weft::acl;

aclError aclInit(const char* configPath) {
  return guarded("aclInit", [&] { return initialise(configPath); });
}

aclError aclFinalize() {
  Init& state = init_state();
  const std::lock_guard lock(state.mutex);
  if (state.ended) return repeated_end("aclFinalize");
  state.ended = true;
  state.references = 0;
  return ACL_SUCCESS;
}

aclError aclFinalizeReference(uint64_t* refCount) {
  Init& state = init_state();
  const std::lock_guard lock(state.mutex);
  if (state.references == 0) return repeated_end("aclFinalizeReference");
  state.ended = --state.references == 0;
  if (refCount != nullptr) *refCount = state.references;
  return ACL_SUCCESS;
}

aclError aclrtGetVersion(int32_t* majorVersion, int32_t* minorVersion, int32_t* patchVersion) {
  if (majorVersion == nullptr || minorVersion == nullptr || patchVersion == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "aclrtGetVersion: an output is NULL");
  }
  *majorVersion = ACL_MAJOR_VERSION;
  *minorVersion = ACL_MINOR_VERSION;
  *patchVersion = ACL_PATCH_VERSION;
  return ACL_SUCCESS;
}

aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version) {
  constexpr const char* kWhere = "aclsysGetCANNVersion";
  if (version == nullptr) return fail(ACL_ERROR_INVALID_PARAM, "%s: version is NULL", kWhere);
  if (name < ACL_PKG_NAME_CANN || name > ACL_PKG_NAME_DRIVER) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: package %d does not exist", kWhere, name);
  }
  *version = aclCANNPackageVersion{};
  std::snprintf(version->version, sizeof version->version, "%s", kVersion);
  std::snprintf(version->majorVersion, sizeof version->majorVersion, "%d", kMajor);
  std::snprintf(version->minorVersion, sizeof version->minorVersion, "%d", kMinor);
  std::snprintf(version->releaseVersion, sizeof version->releaseVersion, "%d", kRelease);
  return ACL_SUCCESS;
}

aclError aclsysGetVersionStr(char* pkgName, char* versionStr) {
  if (const aclError error = check_package(pkgName, versionStr, "aclsysGetVersionStr")) {
    return error;
  }
  std::snprintf(versionStr, ACL_PKG_VERSION_MAX_SIZE, "%s", kVersion);
  return ACL_SUCCESS;
}

aclError aclsysGetVersionNum(char* pkgName, int32_t* versionNum) {
  if (const aclError error = check_package(pkgName, versionNum, "aclsysGetVersionNum")) {
    return error;
  }
  *versionNum = kMajor * 10'000'000 + kMinor * 100'000 + kRelease * 1'000;
  return ACL_SUCCESS;
}

const char* aclrtGetSocName() {
  // Copied: the environment may change while somebody holds the pointer.
  static const char* const name = [] {
    const char* set = std::getenv("WEFT_SOC_NAME");
    return set == nullptr || *set == '\0' ? kSocName : strdup(set);
  }();
  return name;
}
