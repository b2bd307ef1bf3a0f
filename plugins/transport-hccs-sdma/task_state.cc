// SPDX-License-Identifier: Apache-2.0
// Making, sharing and giving back what the tasks engine works with.
#include "task_state.hpp"

#include <fmt/format.h>

#include <cstring>

namespace weft::hccs {
namespace {

constexpr size_t kKeyBytes = 65;  // of ACL, for memory and for notifies

/// Begins what a rank of the tasks engine tells; ranks * flags FlagBlobs follow, by the rank that
/// records them.
struct TaskBlob {
  uint64_t host;
  uint64_t process;
  uint64_t shared;      // as addressed there
  uint64_t key_offset;  // of it in what the key opens
  uint32_t ranks;
  uint32_t flags;
  char memory_key[kKeyBytes + 7];
};

struct FlagBlob {
  uint64_t handle;  // for this process
  char key[kKeyBytes + 7];
};

std::string key_text(const char* key) { return {key, strnlen(key, kKeyBytes)}; }

}  // namespace

TaskState::TaskState(Context& context, const weft_endpoint_params& params)
    : context_(context),
      params_(params),
      own_(size_t{params.ranks} * params.flags, nullptr),
      peers_(own_.size(), nullptr),
      imported_(params.ranks, false),
      marks_(params.marks, nullptr) {}

/// On any thread, whatever is current there.
TaskState::~TaskState() {
  aclrtContext previous = nullptr;
  if (aclrtGetCurrentContext(&previous) != ACL_SUCCESS) previous = nullptr;  // there is none
  const bool entered = aclrtSetDevice(params_.device) == ACL_SUCCESS;
  for (aclrtStream stream : streams_) aclrtDestroyStreamForce(stream);
  for (aclrtEvent mark : marks_) {
    if (mark != nullptr) aclrtDestroyEvent(mark);
  }
  for (size_t i = 0; i < peers_.size(); ++i) {
    if (peers_[i] != nullptr && imported_[i / params_.flags]) aclrtDestroyNotify(peers_[i]);
  }
  for (aclrtNotify notify : own_) {
    if (notify != nullptr) aclrtDestroyNotify(notify);
  }
  if (!memory_key_.empty()) aclrtIpcMemClose(memory_key_.c_str());
  if (shared_ != nullptr) aclrtFree(shared_);
  if (entered) aclrtResetDevice(params_.device);
  if (previous != nullptr) aclrtSetCurrentContext(previous);
}

int32_t TaskState::check(aclError error, const char* what) const {
  if (error == ACL_SUCCESS) return WEFT_OK;
  try {
    return context_.fail_acl(error, what);
  } catch (const std::exception&) {
    return WEFT_E_OOM;
  }
}

int32_t TaskState::open() {
  for (uint32_t peer = 0; peer < params_.ranks; ++peer) {
    if (peer == params_.rank) continue;
    for (uint32_t i = 0; i < params_.flags; ++i) {
      const aclError error = aclrtCreateNotify(&own_[flag(peer, i)], 0);
      if (error == ACL_SUCCESS) continue;
      return context_.fail_acl(
          error,
          fmt::format("making notifies, of which the tasks engine needs {} for each rank of a "
                      "communicator of {} (put fewer ranks on a device, destroy communicators, or "
                      "set engine = \"direct\" in [transport] of the policy)",
                      (params_.ranks - 1) * params_.flags, params_.ranks));
    }
  }
  return WEFT_OK;
}

int32_t TaskState::share(uint64_t bytes, void** address) {
  if (shared_ != nullptr) return context_.fail(WEFT_E_PARA, "memory is shared once");
  const aclError error = aclrtMalloc(&shared_, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
  if (error != ACL_SUCCESS) {
    shared_ = nullptr;
    context_.fail_acl(error, fmt::format("aclrtMalloc of {} bytes", bytes));
    return error == ACL_ERROR_RT_MEMORY_ALLOCATION ? WEFT_E_OOM : WEFT_E_RUNTIME;
  }
  shared_bytes_ = bytes;
  *address = shared_;
  return WEFT_OK;
}

/// Keys open whole pages.
int32_t TaskState::export_memory() {
  if (shared_ == nullptr || !memory_key_.empty()) return WEFT_OK;
  aclrtPtrAttributes attributes{};
  int32_t code = check(aclrtPointerGetAttributes(shared_, &attributes), "looking at its memory");
  if (code != WEFT_OK) return code;
  const uint64_t page = attributes.pageSize == 0 ? 4096 : attributes.pageSize;
  const auto address = reinterpret_cast<uint64_t>(shared_);
  const uint64_t base = address / page * page;
  const uint64_t end = (address + shared_bytes_ + page - 1) / page * page;
  char key[kKeyBytes] = {};
  // Peers prove themselves at the rendezvous, by the token of the root info, before they get the
  // key.
  code = check(aclrtIpcMemGetExportKey(reinterpret_cast<void*>(base), end - base, key, sizeof key,
                                       ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION),
               "exporting the HCCL buffers");
  if (code != WEFT_OK) return code;
  memory_key_ = key_text(key);
  key_offset_ = address - base;
  return WEFT_OK;
}

int32_t TaskState::export_flag(aclrtNotify notify, char* key) const {
  return check(aclrtNotifyGetExportKey(notify, key, kKeyBytes,
                                       ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION),
               "exporting a notify");
}

int32_t TaskState::describe(void* bytes, uint64_t* length) {
  const uint64_t needed = sizeof(TaskBlob) + own_.size() * sizeof(FlagBlob);
  if (bytes == nullptr) {
    *length = needed;
    return WEFT_OK;
  }
  if (*length < needed) return context_.fail(WEFT_E_PARA, "too little room for the description");
  *length = needed;
  TaskBlob blob{};
  blob.host = context_.host_id;
  blob.process = context_.process_id;
  blob.shared = reinterpret_cast<uint64_t>(shared_);
  blob.ranks = params_.ranks;
  blob.flags = params_.flags;
  if (params_.ranks > 1) {
    if (const int32_t code = export_memory(); code != WEFT_OK) return code;
  }
  blob.key_offset = key_offset_;
  memory_key_.copy(blob.memory_key, kKeyBytes - 1);
  auto* at = static_cast<char*>(bytes);
  std::memcpy(at, &blob, sizeof blob);
  at += sizeof blob;
  for (aclrtNotify notify : own_) {
    FlagBlob each{};
    if (notify != nullptr) {
      each.handle = reinterpret_cast<uint64_t>(notify);
      if (const int32_t code = export_flag(notify, each.key); code != WEFT_OK) return code;
    }
    std::memcpy(at, &each, sizeof each);
    at += sizeof each;
  }
  return WEFT_OK;
}

int32_t TaskState::connect_peer(uint32_t rank, const void* bytes, uint64_t length,
                                weft_peer_view* view, std::vector<std::string>& imported,
                                weft_endpoint_info* info) {
  TaskBlob blob{};
  const uint64_t needed = sizeof blob + own_.size() * sizeof(FlagBlob);
  if (length == needed) std::memcpy(&blob, bytes, sizeof blob);
  if (length != needed || blob.ranks != params_.ranks || blob.flags != params_.flags) {
    return context_.fail(
        WEFT_E_UNAVAIL,
        fmt::format("rank {} does not use this transport or another version of it", rank));
  }
  if (blob.host != context_.host_id) {
    return context_.fail(
        WEFT_E_UNAVAIL,
        fmt::format("rank {} is on another host; this transport reaches ranks of one host", rank));
  }
  view->delta = 0;
  if (rank == params_.rank) return WEFT_OK;
  const bool here = blob.process == context_.process_id;
  if (!here) {
    info->all_local = 0;
    void* base = nullptr;
    const std::string key = key_text(blob.memory_key);
    const int32_t code = check(context_.imports.open(key, &base), "mapping a peer's HCCL buffers");
    if (code != WEFT_OK) return code;
    imported.push_back(key);
    view->delta =
        static_cast<int64_t>(reinterpret_cast<uint64_t>(base) + blob.key_offset - blob.shared);
    imported_[rank] = true;
  }
  const char* flags =
      static_cast<const char*>(bytes) + sizeof blob + flag(params_.rank, 0) * sizeof(FlagBlob);
  for (uint32_t i = 0; i < params_.flags; ++i) {
    FlagBlob each{};
    std::memcpy(&each, flags + i * sizeof each, sizeof each);
    aclrtNotify& notify = peers_[flag(rank, i)];
    if (here) {
      notify = reinterpret_cast<aclrtNotify>(each.handle);
      continue;
    }
    const int32_t code = check(aclrtNotifyImportByKey(&notify, key_text(each.key).c_str(),
                                                      ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS),
                               "importing a peer's notify");
    if (code != WEFT_OK) {
      notify = nullptr;
      return code;
    }
  }
  return WEFT_OK;
}

int32_t TaskState::new_stream(void** stream) {
  streams_.reserve(streams_.size() + 1);
  aclrtStream made = nullptr;
  const int32_t code = check(aclrtCreateStream(&made), "making a stream");
  if (code != WEFT_OK) return code;
  streams_.push_back(made);
  *stream = made;
  return WEFT_OK;
}

}  // namespace weft::hccs
