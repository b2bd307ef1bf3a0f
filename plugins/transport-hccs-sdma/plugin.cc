// SPDX-License-Identifier: Apache-2.0
// What this plugin is, and its state in a process.
#include <sys/random.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>

#include "acl/acl_rt.h"
#include "context.hpp"

namespace weft::hccs {
namespace {

/// The same in all processes of a host, and in its containers.
uint64_t boot_id_hash() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return std::hash<std::string>()(id);
}

}  // namespace

int32_t Context::fail(int32_t code, const std::string& text) const {
  host->fail(text.data(), text.size());
  return code;
}

int32_t Context::fail_acl(int32_t acl_error, const std::string& what) const {
  // The newest comes first; older ones, perhaps weft's own, are not about this.
  const char* texts = aclGetRecentErrMsg();
  const std::string all = texts == nullptr ? "no text" : texts;
  return fail(WEFT_E_RUNTIME,
              what + ": error " + std::to_string(acl_error) + ", " + all.substr(0, all.find('\n')));
}

int32_t open_context(const weft_host* host, void** context) {
  if (host->head.major != WEFT_ABI_MAJOR || !WEFT_HAS(host, weft_host, fail)) {
    return WEFT_E_NOT_SUPPORT;
  }
  auto made = std::unique_ptr<Context>(new (std::nothrow) Context);
  if (made == nullptr) return WEFT_E_OOM;
  made->host = host;
  made->host_id = boot_id_hash();
  // Equal identities would make two processes take each other's addresses for their own.
  if (getrandom(&made->process_id, sizeof made->process_id, 0) != sizeof made->process_id) {
    return made->fail(WEFT_E_RUNTIME, "the system gives no random number");
  }
  *context = made.release();  // lives as long as the process, like the plugin
  return WEFT_OK;
}

}  // namespace weft::hccs

extern "C" WEFT_EXPORT const weft_plugin_desc* weft_plugin(void) {
  static const weft_transport table = weft::hccs::transport_table();
  static const weft_plugin_desc desc = {
      WEFT_HEAD(weft_plugin_desc),
      WEFT_PLUGIN_MAGIC,
      WEFT_KIND_TRANSPORT,
      "hccs-sdma",
      "1.0.0",
      "ranks of one host, engines direct (mapped device memory) and tasks (stream "
      "tasks of any ACL runtime)",
      &table};
  return &desc;
}
