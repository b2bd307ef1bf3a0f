// SPDX-License-Identifier: Apache-2.0
#include "memory_group.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "ranks.hpp"

namespace weft::test {
namespace {

void copy_text(char* room, size_t size, const std::string& text) {
  room[text.copy(room, size - 1)] = '\0';
}

Group& as_group(void* self) { return *static_cast<Group*>(self); }

}  // namespace

MemoryPlugin& memory_plugin(const char* file) {
  static MemoryPlugin plugin = [&] {
    const std::string path = std::string(std::getenv("WEFT_HOME")) + "/lib64/weft/plugins/" + file;
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    check(library != nullptr, library == nullptr ? dlerror() : "");
    const auto describe = reinterpret_cast<weft_plugin_fn>(dlsym(library, WEFT_PLUGIN_SYMBOL));
    MemoryPlugin made{static_cast<const weft_memory*>(describe()->table), nullptr};
    check(made.table->open(&fake_host(), &made.context) == WEFT_OK, "open");
    return made;
  }();
  return plugin;
}

Net* Net::create(uint32_t count) {
  void* memory =
      mmap(nullptr, count * sizeof(Net), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  auto* nets = static_cast<Net*>(memory);  // all of it zero
  pthread_mutexattr_t shared_mutex;
  pthread_mutexattr_init(&shared_mutex);
  pthread_mutexattr_setpshared(&shared_mutex, PTHREAD_PROCESS_SHARED);
  pthread_condattr_t shared_condition;
  pthread_condattr_init(&shared_condition);
  pthread_condattr_setpshared(&shared_condition, PTHREAD_PROCESS_SHARED);
  pthread_condattr_setclock(&shared_condition, CLOCK_MONOTONIC);
  for (uint32_t i = 0; i < count; ++i) {
    pthread_mutex_init(&nets[i].mutex_, &shared_mutex);
    pthread_cond_init(&nets[i].changed_, &shared_condition);
  }
  return nets;
}

void Net::destroy(Net* nets, uint32_t count) { munmap(nets, count * sizeof(Net)); }

template <class Condition>
bool Net::wait(int seconds, const Condition& condition) {
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += seconds;
  while (!condition()) {
    if (pthread_cond_timedwait(&changed_, &mutex_, &until) != 0) return condition();
  }
  return true;
}

Group::Group(MemoryPlugin& plugin, Net& net, uint32_t rank, uint32_t ranks, int32_t device,
             uint64_t window_bytes)
    : plugin_(plugin), net_(net), processes_(ranks), peers_(ranks) {
  fill();
  table_.rank = rank;
  table_.ranks = ranks;
  table_.device = device;
  table_.window_bytes = window_bytes;
  net_.lock();
  net_.processes_[rank] = static_cast<uint64_t>(getpid());
  ++net_.joined_;
  net_.changed();
  const bool all = net_.wait(20, [&] { return net_.joined_ == ranks; });
  for (uint32_t r = 0; r < ranks; ++r) processes_[r] = net_.processes_[r];
  net_.unlock();
  check(all, "not all ranks have joined");
  table_.processes = processes_.data();
  const int32_t code = plugin_.table->attach(plugin_.context, &table_, &member_);
  check(code == WEFT_OK, "attach: " + last_reason());
  if (plugin_.table->answer != nullptr) server_ = std::thread([this] { serve(); });
}

Group::~Group() {
  if (member_ != nullptr) detach();
  EXPECT_EQ(misuses, 0);
}

void Group::detach() {
  net_.lock();
  stopping_ = true;
  net_.left_[table_.rank] = true;
  net_.changed();
  net_.unlock();
  if (server_.joinable()) server_.join();
  plugin_.table->detach(std::exchange(member_, nullptr));
}

void Group::fill() {
  table_.head = WEFT_HEAD(weft_group);
  table_.self = this;
  table_.all_gather = [](void* self, const void* mine, uint64_t length, weft_gathered each,
                         void* arg) { return as_group(self).all_gather(mine, length, each, arg); };
  table_.ask = [](void* self, const void* question, uint64_t length) {
    return as_group(self).ask(question, length);
  };
  table_.show_own = [](void* self, uint64_t address, uint64_t bytes, uint64_t token) -> int32_t {
    Group& group = as_group(self);
    if (group.shows_until_fault > 0 && --group.shows_until_fault == 0) {
      last_reason() = "an ordered fault of show_own";
      return WEFT_E_OOM;
    }
    if (token + bytes > WEFT_TOKEN_LIMIT) ++group.misuses;
    return group.show(group.own_, address, bytes, token);
  };
  table_.hide_own = [](void* self, uint64_t address, uint64_t bytes) {
    as_group(self).hide(as_group(self).own_, address, bytes);
  };
  table_.show_peer = [](void* self, uint32_t peer, uint64_t token, uint64_t bytes,
                        uint64_t address) -> int32_t {
    return as_group(self).show_peer(peer, token, bytes, address);
  };
  table_.hide_peer = [](void* self, uint32_t peer, uint64_t token, uint64_t bytes) {
    as_group(self).hide_peer(peer, token, bytes);
  };
  table_.own_in_use = [](void* self, uint64_t address, uint64_t bytes) -> int32_t {
    const uint64_t used = as_group(self).used_;
    return used >= address && used < address + bytes ? 1 : 0;
  };
  table_.peer_in_use = [](void* self, uint32_t) -> int32_t {
    if (!as_group(self).peers_busy) return 0;
    as_group(self).asked_in_use = true;
    return 1;
  };
}

int32_t Group::all_gather(const void* mine, uint64_t length, weft_gathered each, void* arg) {
  check(length <= sizeof net_.gathered_[0][0], "what is gathered is small");
  ++gathers;
  net_.lock();
  const uint32_t round = net_.rounds_;
  net_.lengths_[round % 2][table_.rank] = length;
  std::memcpy(net_.gathered_[round % 2][table_.rank], mine, length);
  bool complete = true;
  if (++net_.arrived_ == table_.ranks) {
    net_.arrived_ = 0;
    ++net_.rounds_;
    net_.changed();
  } else {
    complete = net_.wait(gather_seconds, [&] { return net_.rounds_ != round; });
    if (!complete) --net_.arrived_;
  }
  std::vector<std::string> parts(table_.ranks);
  for (uint32_t r = 0; r < table_.ranks; ++r) {
    parts[r].assign(reinterpret_cast<char*>(net_.gathered_[round % 2][r]),
                    net_.lengths_[round % 2][r]);
  }
  net_.unlock();
  if (!complete) {
    last_reason() = "some rank is missing";
    return WEFT_E_TIMEOUT;
  }
  if (gathers_until_fault > 0 && --gathers_until_fault == 0) {
    last_reason() = "an ordered fault of all_gather";
    return gather_fault;
  }
  for (uint32_t r = 0; r < table_.ranks; ++r) each(arg, r, parts[r].data(), parts[r].size());
  return WEFT_OK;
}

int32_t Group::ask(const void* question, uint64_t length) {
  int32_t code = WEFT_OK;
  net_.lock();
  for (uint32_t r = 0; r < table_.ranks; ++r) {
    if (r == table_.rank) continue;
    Net::Box& box = net_.boxes_[table_.rank][r];
    // Another thread of this rank may be asking.
    net_.wait(20, [&] { return box.state == Net::Box::kEmpty; });
    box.length = length;
    std::memcpy(box.bytes, question, length);
    box.state = Net::Box::kAsked;
    net_.changed();
    const auto over = [&] { return box.state == Net::Box::kAnswered || net_.left_[r]; };
    const bool in_time = net_.wait(20, over);
    const bool answered = box.state == Net::Box::kAnswered;
    const int32_t answer = answered ? box.code : in_time ? WEFT_E_REMOTE : WEFT_E_TIMEOUT;
    if (answer != WEFT_OK && code == WEFT_OK) {
      code = answer;
      last_reason() = "rank " + std::to_string(r) + ": " + (answered ? box.reason : "it has left");
    }
    box.state = Net::Box::kEmpty;
    net_.changed();
  }
  net_.unlock();
  return code;
}

void Group::serve() {
  aclrtSetDevice(table_.device);
  uint32_t asker = 0;
  const auto asked = [&] {
    for (asker = 0; asker < table_.ranks; ++asker) {
      if (net_.boxes_[asker][table_.rank].state == Net::Box::kAsked) return true;
    }
    return false;
  };
  net_.lock();
  while (!stopping_) {
    bool any = false;
    net_.wait(1, [&] { return stopping_ || (any = asked()); });
    if (stopping_ || !any) continue;
    const uint32_t peer = asker;
    Net::Box& box = net_.boxes_[peer][table_.rank];
    const std::string question(reinterpret_cast<char*>(box.bytes), box.length);
    net_.unlock();
    last_reason().clear();
    const int32_t code = plugin_.table->answer(member_, peer, question.data(), question.size());
    net_.lock();
    box.code = code;
    copy_text(box.reason, sizeof box.reason, last_reason());
    box.state = Net::Box::kAnswered;
    net_.changed();
  }
  net_.unlock();
  aclrtResetDevice(table_.device);
}

int32_t Group::show(Places& places, uint64_t from, uint64_t bytes, uint64_t to) {
  const std::lock_guard lock(mutex_);
  for (const auto& [begin, place] : places) {
    if (begin < from + bytes && from < place.first) {
      ++misuses;
      return WEFT_E_PARA;
    }
  }
  places[from] = {from + bytes, to};
  return WEFT_OK;
}

void Group::hide(Places& places, uint64_t from, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto place = places.find(from);
  if (place == places.end() || place->second.first != from + bytes) {
    ++misuses;
  } else {
    places.erase(place);
  }
}

int32_t Group::show_peer(uint32_t peer, uint64_t token, uint64_t bytes, uint64_t address) {
  if (peer_shows_until_fault > 0 && --peer_shows_until_fault == 0) {
    last_reason() = "an ordered fault of show_peer";
    return WEFT_E_OOM;
  }
  if (peer == table_.rank) ++misuses;
  return show(peers_.at(peer), token, bytes, address);
}

void Group::hide_peer(uint32_t peer, uint64_t token, uint64_t bytes) {
  hide(peers_.at(peer), token, bytes);
  if ((plugin_.table->families & WEFT_MEMORY_WINDOWS) == 0) return;
  // One window has one token on all ranks, and its owner hides it before that of the peers.
  const std::lock_guard lock(mutex_);
  for (const auto& [begin, place] : own_) {
    if (place.second == token) ++misuses;
  }
}

std::optional<uint64_t> Group::find(const Places& places, uint64_t from, uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  std::optional<uint64_t> first;
  for (uint64_t at = from; at < from + bytes;) {
    auto place = places.upper_bound(at);
    if (place == places.begin()) return {};
    --place;
    if (at >= place->second.first) return {};
    const uint64_t there = place->second.second + (at - place->first);
    if (!first) first = there;
    if (there - *first != at - from) return {};  // the places do not go on
    at = place->second.first;
  }
  return first;
}

std::optional<uint64_t> Group::own(const void* address, uint64_t bytes) const {
  return find(own_, reinterpret_cast<uint64_t>(address), bytes);
}

std::optional<uint64_t> Group::peer(uint32_t rank, const void* token, uint64_t bytes) const {
  return find(peers_.at(rank), reinterpret_cast<uint64_t>(token), bytes);
}

size_t Group::own_places() const {
  const std::lock_guard lock(mutex_);
  return own_.size();
}

size_t Group::peer_places(uint32_t rank) const {
  const std::lock_guard lock(mutex_);
  return peers_.at(rank).size();
}

std::string Group::explain(const void* address, uint64_t bytes) const {
  char text[200];
  plugin_.table->explain(member_, address, bytes, text, sizeof text);
  return text;
}

void expect(int32_t code, int32_t wanted, std::initializer_list<std::string> parts,
            const std::source_location& where) {
  check(
      code == wanted,
      "returned " + std::to_string(code) + ", not " + std::to_string(wanted) + ": " + last_reason(),
      where);
  for (const std::string& part : parts) {
    check(contains(last_reason(), part), "no \"" + part + "\" in: " + last_reason(), where);
  }
}

}  // namespace weft::test
