// SPDX-License-Identifier: Apache-2.0
#include "api/state_callbacks.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "api/export.hpp"
#include "api/operators.hpp"
#include "base/log.hpp"
#include "hccl/hccl_comm.h"

namespace weft::api {
namespace {

constexpr size_t kNameRoom = 160;  // with the NUL

struct Callback {
  HcclCommStateCallback function;
  void* args;
};

struct Callbacks {
  std::mutex mutex;
  std::map<std::string, Callback> by_name;
  std::map<HcclComm, std::thread::id> changing;
  std::condition_variable changed;
};

Callbacks& callbacks() {
  static auto* instance = new Callbacks;  // leaked: threads may outlive static destructors
  return *instance;
}

void call(const std::string& name, const Callback& callback, HcclComm comm,
          HcclCommStatePhase phase) {
  std::string why;
  try {
    const HcclResult code = callback.function(comm, phase, callback.args);
    if (code == HCCL_SUCCESS) return;
    why = fmt::format("returned {}", static_cast<int>(code));
  } catch (const std::exception& error) {
    why = fmt::format("threw an exception: {}", error.what());
  } catch (...) {
    why = "threw an exception";
  }
  log::warn(fmt::format("the state callback '{}' {} in phase {}; the change goes on", name, why,
                        static_cast<int>(phase)));
}

}  // namespace

StateChange::StateChange(HcclComm comm, std::chrono::milliseconds patience) : comm_(comm) {
  Callbacks& all = callbacks();
  std::unique_lock lock(all.mutex);
  const auto mine = std::this_thread::get_id();
  all.changed.wait_for(lock, patience, [&] {
    const auto other = all.changing.find(comm);
    return other == all.changing.end() || other->second == mine;
  });
  if (all.changing.emplace(comm, mine).second) return;
  throw Error(HCCL_E_AGAIN, "the communicator is being destroyed or resumed by another call");
}

StateChange::~StateChange() {
  {
    const std::lock_guard lock(callbacks().mutex);
    callbacks().changing.erase(comm_);
  }
  callbacks().changed.notify_all();
}

void StateChange::tell(HcclCommStatePhase phase) const {
  std::map<std::string, Callback> all;
  {
    const std::lock_guard lock(callbacks().mutex);
    all = callbacks().by_name;
  }
  for (const auto& [name, callback] : all) call(name, callback, comm_, phase);
}

}  // namespace weft::api

extern "C" {

WEFT_API HcclResult HcclCommRegCommStateCallback(const char* regName, HcclCommStateCallback cb,
                                                 void* args) {
  return weft::guard("HcclCommRegCommStateCallback", [&] {
    using namespace weft::api;
    require_all({{"regName", regName}, {"cb", reinterpret_cast<const void*>(cb)}});
    const size_t length = strnlen(regName, kNameRoom);
    if (length == 0 || length == kNameRoom) {
      throw weft::Error(HCCL_E_PARA,
                        length == 0 ? "regName is empty" : "regName has over 159 characters");
    }
    const std::lock_guard lock(callbacks().mutex);
    callbacks().by_name[std::string(regName, length)] = {cb, args};
    return HCCL_SUCCESS;
  });
}

}  // extern "C"
