// SPDX-License-Identifier: Apache-2.0
// Notifies shared between processes by key. An importer maps the exporter's bits once, for all
// notifies it imports from there.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

#include "context.hpp"
#include "heap.hpp"
#include "ipc_client.hpp"
#include "notify.hpp"
#include "soc.hpp"

namespace weft::acl {

struct ForeignBits {
  std::array<uint64_t, 2> token;  // of the exporter
  void* base;
  size_t size;
  size_t uses;
};

namespace {

struct Foreigners {
  std::mutex mutex;
  std::map<std::array<uint64_t, 2>, ForeignBits> by_token;
};

Foreigners& foreigners() {
  static auto& all = *new Foreigners;  // never destroyed: threads may still run during exit
  return all;
}

// The exporter's bits, mapped, with one more use; nullptr on failure (see errno).
ForeignBits* open_foreign(const Key& key, int file, size_t size) {
  Foreigners& all = foreigners();
  const std::lock_guard lock(all.mutex);
  if (const auto it = all.by_token.find(key.token); it != all.by_token.end()) {
    ++it->second.uses;
    return &it->second;
  }
  const auto it = all.by_token.emplace(key.token, ForeignBits{key.token, nullptr, size, 1}).first;
  it->second.base = map_file(file, 0, size);
  if (it->second.base != nullptr) return &it->second;
  all.by_token.erase(it);
  return nullptr;
}

aclError export_notify(Notify& notify, char* text, uint64_t flags, const char* where) {
  if (const aclError error = refuse_after_fork(where)) return error;
  if (notify.bit.foreign != nullptr) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: the notify is another process's; only its creator exports it", where);
  }
  if (notify.exported.exchange(true)) {
    return fail(ACL_ERROR_RT_INTERNAL_ERROR,
                "%s: the notify was exported before; keep and share the first key", where);
  }
  const bool check_pid = flags != ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION;
  Offer offer{Shared::kNotify, bits_file(), false, check_pid, {}};
  offer.reply.device = notify.device;
  offer.reply.offset = bit_offset(notify);
  offer.reply.size = bits_size();
  offer.reply.extra = {notify.bit.generation, notify.id, 0, 0};
  if (const aclError error = add_export(offer, where, &notify.key)) {
    notify.exported = false;
    return error;
  }
  std::memcpy(text, to_text(notify.key).c_str(), kKeyBytes);
  return ACL_SUCCESS;
}

aclError import_notify(const Key& key, int32_t device, uint64_t flags, const char* where,
                       aclrtNotify* output) {
  if (const aclError error = refuse_after_fork(where)) return error;
  Reply reply;
  int file = -1;
  if (const aclError error = fetch(key, &reply, &file, where)) return error;
  const Descriptor received(file);
  if (reply.size < kBitStride || reply.offset > reply.size - kBitStride ||
      reply.offset % kBitStride != 0) {
    return fail(ACL_ERROR_RT_IPC_ERROR, "%s: process %u answers nonsense", where, key.pid);
  }
  const bool peer = flags == ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS;
  if (peer && reply.device != device) enable_peer(device, reply.device);
  ForeignBits* foreign = open_foreign(key, file, reply.size);
  Notify* notify = foreign == nullptr ? nullptr : g_notifies.acquire();
  if (notify == nullptr) {
    if (foreign != nullptr) release_foreign(foreign);
    return fail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "%s: no room for another notify in this process",
                where);
  }
  auto* word = reinterpret_cast<uint64_t*>(static_cast<char*>(foreign->base) + reply.offset);
  notify->bit = {word, reply.extra[0], foreign};
  notify->device = reply.device;
  notify->id = static_cast<uint32_t>(reply.extra[1]);
  notify->exported = false;
  notify->life_state.store(Life::kLive, std::memory_order_release);
  *output = notify;
  return ACL_SUCCESS;
}

aclError not_exported(const char* where) noexcept {
  return fail(ACL_ERROR_RT_PARAM_INVALID,
              "%s: the notify is not exported; call aclrtNotifyGetExportKey first", where);
}

}  // namespace

void use_foreign(ForeignBits* foreign) noexcept {
  const std::lock_guard lock(foreigners().mutex);
  ++foreign->uses;
}

void release_foreign(ForeignBits* foreign) noexcept {
  const std::lock_guard lock(foreigners().mutex);
  if (--foreign->uses > 0) return;
  munmap(foreign->base, foreign->size);
  const auto token = foreign->token;
  foreigners().by_token.erase(token);
}

void end_export(Notify& notify) noexcept {
  if (notify.exported.exchange(false)) remove_export(notify.key);
}

}  // namespace weft::acl

using namespace weft::acl;

aclError aclrtNotifyGetExportKey(aclrtNotify notify, char* key, size_t len, uint64_t flags) {
  constexpr const char* kWhere = "aclrtNotifyGetExportKey";
  if (notify == nullptr || key == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", kWhere,
                notify == nullptr ? "notify" : "key");
  }
  if (len < kKeyBytes || (flags != ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT &&
                          flags != ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION)) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: len %zu must be 65 or more and flags 0x%llx must be 0 or 2", kWhere, len,
                static_cast<unsigned long long>(flags));
  }
  if (soc_is("Ascend310B") || soc_is("Ascend950DT")) {
    return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: %s does not share notifies", kWhere,
                aclrtGetSocName());
  }
  aclError error = ACL_SUCCESS;
  Notify* found = find_notify(notify, kWhere, &error);
  if (found == nullptr) return error;
  return guarded(kWhere, [&] { return export_notify(*found, key, flags, kWhere); });
}

aclError aclrtNotifySetImportPid(aclrtNotify notify, int32_t* pid, size_t num) {
  constexpr const char* kWhere = "aclrtNotifySetImportPid";
  if (notify == nullptr || pid == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", kWhere,
                notify == nullptr ? "notify" : "pid");
  }
  if (num == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: num is 0", kWhere);
  aclError error = ACL_SUCCESS;
  const Notify* found = find_notify(notify, kWhere, &error);
  if (found == nullptr) return error;
  if (!found->exported) return not_exported(kWhere);
  return guarded(kWhere, [&] { return allow_import(found->key, pid, num, kWhere); });
}

aclError aclrtNotifySetImportPidInterServer(aclrtNotify notify, aclrtServerPid* serverPids,
                                            size_t num) {
  constexpr const char* kWhere = "aclrtNotifySetImportPidInterServer";
  if (notify == nullptr || serverPids == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", kWhere,
                notify == nullptr ? "notify" : "serverPids");
  }
  if (num == 0) return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: num is 0", kWhere);
  return fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
              "%s: a plain host is in no super node; use aclrtNotifySetImportPid", kWhere);
}

aclError aclrtNotifyImportByKey(aclrtNotify* notify, const char* key, uint64_t flags) {
  constexpr const char* kWhere = "aclrtNotifyImportByKey";
  if (notify == nullptr || key == nullptr) {
    return fail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", kWhere,
                notify == nullptr ? "notify" : "key");
  }
  if (flags != ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT &&
      flags != ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS) {
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: flags 0x%llx must be 0 or 2", kWhere,
                static_cast<unsigned long long>(flags));
  }
  Key parsed;
  if (!parse_key(key, Shared::kNotify, &parsed)) {
    return fail(ACL_ERROR_RT_PARAM_INVALID,
                "%s: the text is no key of aclrtNotifyGetExportKey; pass all its 65 bytes", kWhere);
  }
  const Context* context = need_context(kWhere);
  if (context == nullptr) return ACL_ERROR_RT_CONTEXT_NULL;
  return guarded(kWhere,
                 [&] { return import_notify(parsed, context->device, flags, kWhere, notify); });
}
