// SPDX-License-Identifier: Apache-2.0
#include "comm/memory_group.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/thread.hpp"

namespace weft::comm {
namespace {

constexpr uint64_t kMaxQuestion = 64 << 10;

enum : uint32_t { kQuestion = 1, kAnswer = 2 };

/// In front of every message between groups. Plain bytes within one host.
struct Header {
  uint32_t space;  // first: whoever takes messages in looks for the group by it
  uint32_t kind;
  uint64_t ticket;
  int32_t code;  // of an answer, whose bytes are the reason
  uint32_t reserved;
};

}  // namespace

/// Runs a body that returns a code; keeps the text of what it throws.
template <typename Body>
int32_t MemoryGroup::guarded(const char* what, Body&& body) noexcept {
  try {
    return body();
  } catch (const Error& error) {
    const std::string text = fmt::format("{}: {}", what, error.what());
    plugin::host().fail(text.data(), text.size());
    return error.code();
  } catch (const std::exception&) {
    return WEFT_E_OOM;
  }
}

weft_group MemoryGroup::services() noexcept {
  weft_group group{};
  group.head = WEFT_HEAD(weft_group);
  group.all_gather = [](void* self, const void* mine, uint64_t length, weft_gathered each,
                        void* arg) { return of(self).all_gather(mine, length, each, arg); };
  group.ask = [](void* self, const void* question, uint64_t length) {
    return of(self).ask(question, length);
  };
  group.show_own = [](void* self, uint64_t address, uint64_t bytes, uint64_t token) {
    MemoryGroup& me = of(self);
    return me.guarded("show_own", [&] {
      return me.show(me.around_.map->show_own(me.space_, address, bytes, token), "show_own");
    });
  };
  group.hide_own = [](void* self, uint64_t address, uint64_t bytes) noexcept {
    of(self).around_.map->hide_own(of(self).space_, address, bytes);
  };
  group.show_peer = [](void* self, uint32_t peer, uint64_t token, uint64_t bytes,
                       uint64_t address) {
    MemoryGroup& me = of(self);
    return me.guarded("show_peer", [&] {
      const bool known = peer < me.around_.ranks;
      return me.show(known && me.around_.map->show_peer(me.space_, peer, token, bytes, address),
                     "show_peer");
    });
  };
  group.hide_peer = [](void* self, uint32_t peer, uint64_t token, uint64_t bytes) noexcept {
    if (peer < of(self).around_.ranks)
      of(self).around_.map->hide_peer(of(self).space_, peer, token, bytes);
  };
  group.own_in_use = [](void* self, uint64_t address, uint64_t bytes) {
    return of(self).around_.own_in_use(address, bytes) ? 1 : 0;
  };
  group.peer_in_use = [](void* self, uint32_t peer) { return of(self).peer_in_use(peer) ? 1 : 0; };
  return group;
}

MemoryGroup::MemoryGroup(const OpenMemory& memory, uint32_t space, const Surroundings& around)
    : memory_(memory), space_(space), around_(around), group_(services()) {
  group_.self = this;
  group_.rank = around_.rank;
  group_.ranks = around_.ranks;
  group_.device = around_.device;
  group_.window_bytes = around_.window_bytes;
  group_.processes = around_.processes.data();
  const int32_t code = table().attach(memory_.context, &group_, &member_);
  if (code == WEFT_OK) return;
  throw Error(static_cast<HcclResult>(code), fmt::format("memory plugin '{}' does not attach: {}",
                                                         name(), plugin::take_failure()));
}

MemoryGroup::~MemoryGroup() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    questions_.clear();
  }
  changed_.notify_all();
  if (answerer_.joinable()) answerer_.join();
  table().detach(member_);
}

int32_t MemoryGroup::show(bool shown, const char* what) noexcept {
  if (shown) return WEFT_OK;
  const std::string text = fmt::format(
      "{}: the place is empty, overlaps what is shown or has no rank or token of this group", what);
  plugin::host().fail(text.data(), text.size());
  return WEFT_E_PARA;
}

int32_t MemoryGroup::all_gather(const void* mine, uint64_t length, weft_gathered each,
                                void* arg) noexcept {
  return guarded("exchange between the ranks", [&] {
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(mine), length);
    const std::lock_guard one_at_a_time(around_.collective);
    const auto all = around_.session->all_gather(bytes, around_.timeout);
    for (uint32_t r = 0; r < around_.ranks; ++r) each(arg, r, all[r].data(), all[r].size());
    return WEFT_OK;
  });
}

bool MemoryGroup::peer_in_use(uint32_t peer) const noexcept {
  return peer < around_.ranks && around_.map->peer_in_use(space_, peer, around_.done());
}

void MemoryGroup::post(uint32_t to, uint32_t kind, uint64_t ticket, int32_t code, const void* bytes,
                       uint64_t length) {
  const Header header{space_, kind, ticket, code, 0};
  std::vector<std::byte> message(sizeof header + length);
  std::memcpy(message.data(), &header, sizeof header);
  if (length > 0) std::memcpy(message.data() + sizeof header, bytes, length);
  around_.session->post(to, message);
}

int32_t MemoryGroup::ask(const void* question, uint64_t length) noexcept {
  return guarded("asking the other ranks", [&]() -> int32_t {
    if (length > kMaxQuestion) throw Error(HCCL_E_PARA, "the question is longer than 64 KiB");
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !asking_; });
    asking_ = true;
    inquiry_ = {};
    inquiry_.ticket = ++last_ticket_;
    std::set<uint32_t> members;
    for (uint32_t r = 0; r < around_.ranks; ++r) {
      if (r == around_.rank) continue;
      if (gone_.contains(r)) {
        inquiry_.code = HCCL_E_REMOTE;
        inquiry_.reason = fmt::format("rank {} has left or died", r);
      } else {
        members.insert(r);
      }
    }
    inquiry_.missing = members;
    const uint64_t ticket = inquiry_.ticket;
    lock.unlock();
    for (const uint32_t r : members) {
      try {
        post(r, kQuestion, ticket, 0, question, length);
      } catch (const Error& error) {
        take_answer(r, ticket, error.code(), error.what());
      }
    }
    lock.lock();
    const bool all = changed_.wait_for(lock, around_.timeout,
                                       [&] { return inquiry_.missing.empty() || ending_; });
    const Inquiry result = std::exchange(inquiry_, {});
    asking_ = false;
    changed_.notify_all();
    if (!all) {
      throw Error(HCCL_E_TIMEOUT,
                  fmt::format("ranks {} do not answer", fmt::join(result.missing, ", ")));
    }
    if (!result.missing.empty()) throw Error(HCCL_E_UNAVAIL, "the communicator is being destroyed");
    if (result.code == WEFT_OK) return WEFT_OK;
    throw Error(static_cast<HcclResult>(result.code), result.reason);
  });
}

void MemoryGroup::take_answer(uint32_t from, uint64_t ticket, int32_t code, std::string reason) {
  {
    const std::lock_guard lock(mutex_);
    if (ticket != inquiry_.ticket || inquiry_.missing.erase(from) == 0) return;  // too late
    if (code != WEFT_OK && inquiry_.code == WEFT_OK) {
      inquiry_.code = code;
      inquiry_.reason = std::move(reason);
    }
  }
  changed_.notify_all();
}

void MemoryGroup::on_peer_gone(uint32_t rank) {
  uint64_t ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    gone_.insert(rank);
    ticket = inquiry_.ticket;
  }
  take_answer(rank, ticket, HCCL_E_REMOTE, fmt::format("rank {} has left or died", rank));
}

/// Answers that are on their way get lost.
void MemoryGroup::on_cut_off(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (inquiry_.missing.empty()) return;
    inquiry_.missing.clear();
    if (inquiry_.code == WEFT_OK) {
      inquiry_.code = HCCL_E_REMOTE;
      inquiry_.reason = why;
    }
  }
  changed_.notify_all();
}

void MemoryGroup::on_message(uint32_t from, std::span<const std::byte> bytes) {
  Header header{};
  if (bytes.size() < sizeof header) return;
  std::memcpy(&header, bytes.data(), sizeof header);
  bytes = bytes.subspan(sizeof header);
  if (header.kind == kAnswer) {
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    take_answer(from, header.ticket, header.code,
                fmt::format("rank {}: {}", from, std::string_view(text, bytes.size())));
    return;
  }
  queue({from, header.ticket, {bytes.begin(), bytes.end()}});
}

void MemoryGroup::queue(Question question) {
  const std::lock_guard lock(mutex_);
  if (ending_) return;
  try {
    if (!answerer_.joinable()) answerer_ = start_thread([this] { answer_questions(); });
  } catch (const Error& error) {
    reply(question, error.code(), error.what());
    return;
  }
  questions_.push_back(std::move(question));
  changed_.notify_all();
}

void MemoryGroup::answer_questions() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !questions_.empty(); });
    if (ending_) return;
    const Question question = std::move(questions_.front());
    questions_.pop_front();
    lock.unlock();
    answer(question);
    lock.lock();
  }
}

void MemoryGroup::answer(const Question& question) {
  int32_t code = WEFT_E_NOT_SUPPORT;
  std::string reason = fmt::format("memory plugin '{}' answers no questions", name());
  try {
    if (table().answer != nullptr) {
      around_.on_device([&] {
        code = table().answer(member_, question.from, question.bytes.data(), question.bytes.size());
      });
      reason = code == WEFT_OK ? "" : plugin::take_failure();
    }
  } catch (const Error& error) {
    code = error.code();
    reason = error.what();
  }
  reply(question, code, reason);
}

void MemoryGroup::reply(const Question& question, int32_t code, std::string_view reason) noexcept {
  try {
    post(question.from, kAnswer, question.ticket, code, reason.data(), reason.size());
  } catch (const std::exception& error) {
    log::info(fmt::format("an answer does not reach rank {}: {}", question.from, error.what()));
  }
}

}  // namespace weft::comm
