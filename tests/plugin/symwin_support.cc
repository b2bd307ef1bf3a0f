// SPDX-License-Identifier: Apache-2.0
#include "symwin_support.hpp"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "fake_host.hpp"
#include "shared.hpp"

namespace weft::test {
namespace {

struct Plugin {
  const weft_memory* table = nullptr;
  void* context = nullptr;
};

Plugin load() {
  void* file = dlopen(WEFT_TEST_SYMWIN, RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) throw std::runtime_error(dlerror());
  const auto describe = reinterpret_cast<weft_plugin_fn>(dlsym(file, WEFT_PLUGIN_SYMBOL));
  Plugin plugin;
  plugin.table = static_cast<const weft_memory*>(describe()->table);
  check(plugin.table->open(&fake_host(), &plugin.context) == WEFT_OK, "the plugin opens");
  return plugin;
}

const Plugin& plugin() {
  static const Plugin loaded = load();
  return loaded;
}

int32_t say(int32_t code, const std::string& text) {
  if (code != WEFT_OK) last_reason() = text;
  return code;
}

/// A few bytes of every page are enough.
bool is_checked(uint64_t i) { return i % 4096 % 1021 == 0; }

/// Waits for all ranks. When the last of them is in another process, ThreadSanitizer does not see
/// that the threads of this one have met, unless they touch something together.
void meet(Rank& self) {
  constexpr uint32_t kMet = Rank::kCounters - 1;
  self.event(kMet);
  self.sync();
  self.counted(kMet);
}

Comm& comm(void* self) { return *static_cast<Comm*>(self); }

}  // namespace

struct GroupFunctions {
  static int32_t all_gather(void* self, const void* mine, uint64_t length, weft_gathered each,
                            void* arg) {
    try {
      return exchange(comm(self), mine, length, each, arg);
    } catch (const Stopped&) {
      return say(WEFT_E_TIMEOUT, "the test is over");
    }
  }

  static int32_t exchange(Comm& group, const void* mine, uint64_t length, weft_gathered each,
                          void* arg) {
    check(length <= Board::kRoom, "an exchange fits the board");
    Board::Slot& slot = group.board_.slot(group.self_.rank());
    const bool fails = ++group.exchanges == group.fail_exchange;
    slot.length = length;
    std::memcpy(slot.bytes, mine, length);
    meet(group.self_);
    for (uint32_t rank = 0; rank < group.group_.ranks && !fails; ++rank) {
      const Board::Slot& theirs = group.board_.slot(rank);
      each(arg, rank, theirs.bytes, theirs.length);
    }
    meet(group.self_);
    return fails ? say(group.exchange_code, "the exchange failed") : WEFT_OK;
  }

  static int32_t ask(void*, const void*, uint64_t) { return WEFT_E_NOT_SUPPORT; }

  static int32_t show_own(void* self, uint64_t address, uint64_t bytes, uint64_t token) {
    Comm& group = comm(self);
    if (group.show_own_code != WEFT_OK) return say(group.show_own_code, "not shown");
    check(token + bytes <= WEFT_TOKEN_LIMIT, "a token");
    check(group.own.emplace(address, Comm::Shown{bytes, token}).second, "shown once");
    return WEFT_OK;
  }
  static void hide_own(void* self, uint64_t address, uint64_t bytes) {
    const auto shown = comm(self).own.find(address);
    if (shown == comm(self).own.end() || shown->second.bytes != bytes) std::abort();
    comm(self).own.erase(shown);
  }

  static int32_t show_peer(void* self, uint32_t peer, uint64_t token, uint64_t bytes,
                           uint64_t address) {
    Comm& group = comm(self);
    if (group.show_peer_code != WEFT_OK) return say(group.show_peer_code, "no peers today");
    check(peer < group.group_.ranks && peer != group.group_.rank, "a peer");
    check(group.of_peer.emplace(std::pair(peer, token), Comm::Shown{bytes, address}).second,
          "shown once");
    return WEFT_OK;
  }
  static void hide_peer(void* self, uint32_t peer, uint64_t token, uint64_t bytes) {
    const auto shown = comm(self).of_peer.find({peer, token});
    if (shown == comm(self).of_peer.end() || shown->second.bytes != bytes) std::abort();
    // The owner hides its memory first.
    for (const auto& [address, mine] : comm(self).own) {
      if (mine.to == token) std::abort();
    }
    comm(self).of_peer.erase(shown);
  }

  static int32_t own_in_use(void* self, uint64_t address, uint64_t bytes) {
    const uint64_t used = comm(self).used_address;
    return used >= address && used < address + bytes ? 1 : 0;
  }
  static int32_t peer_in_use(void* self, uint32_t) { return comm(self).peer_used ? 1 : 0; }
};

Board::Board() {
  void* shared = mmap(nullptr, kRanks * sizeof(Slot), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::bad_alloc();
  slots_ = static_cast<Slot*>(shared);
}

Board::~Board() { munmap(slots_, kRanks * sizeof(Slot)); }

Comm::Comm(Rank& self, Board& board, uint64_t window_bytes) : self_(self), board_(board) {
  board.slot(self.rank()).process = static_cast<uint64_t>(getpid());
  meet(self);
  for (uint32_t rank = 0; rank < self.ranks(); ++rank) {
    processes.push_back(board.slot(rank).process);
  }
  meet(self);
  using F = GroupFunctions;
  group_ = {WEFT_HEAD(weft_group), this,
            self.rank(),           self.ranks(),
            self.device(),         0,
            window_bytes,          processes.data(),
            F::all_gather,         F::ask,
            F::show_own,           F::hide_own,
            F::show_peer,          F::hide_peer,
            F::own_in_use,         F::peer_in_use};
  check(symwin().attach(symwin_context(), &group_, &member_) == WEFT_OK, "attach");
}

Comm::~Comm() {
  if (member_ != nullptr) symwin().detach(member_);
}

void Comm::detach() {
  symwin().detach(std::exchange(member_, nullptr));
  check(own.empty() && of_peer.empty(), "all is hidden at the end");
}

int32_t Comm::enter(void* address, uint64_t bytes, void** window, uint32_t flag) {
  return symwin().window_register(member_, address, bytes, flag, window);
}

void* Comm::open(void* address, uint64_t bytes) {
  void* window = nullptr;
  expect(enter(address, bytes, &window), WEFT_OK);
  check(window != nullptr, "a handle");
  return window;
}

int32_t Comm::close(void* window) { return symwin().window_deregister(symwin_context(), window); }

unsigned char* Comm::peer(void* window, uint32_t rank, uint64_t offset) {
  void* pointer = nullptr;
  expect(symwin().window_peer(symwin_context(), window, offset, rank, &pointer), WEFT_OK);
  return static_cast<unsigned char*>(pointer);
}

int32_t Comm::peer_code(void* window, uint32_t rank, uint64_t offset) {
  void* pointer = nullptr;
  return symwin().window_peer(symwin_context(), window, offset, rank, &pointer);
}

Comm::Found Comm::find(void* address, uint64_t bytes) {
  Found found{};
  found.code = symwin().window_find(member_, address, bytes, &found.window, &found.offset);
  return found;
}

std::string Comm::explain(const void* address, uint64_t bytes) {
  char text[200];
  symwin().explain(member_, address, bytes, text, sizeof text);
  return text;
}

const std::string& reason() { return last_reason(); }

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

const weft_memory& symwin() { return *plugin().table; }
void* symwin_context() { return plugin().context; }

void fill(unsigned char* memory, uint64_t bytes, uint32_t rank) {
  for (uint64_t i = 0; i < bytes; ++i) {
    if (is_checked(i)) memory[i] = pattern(rank, i);
  }
}

void check_filled(const unsigned char* memory, uint64_t bytes, uint32_t rank, uint64_t first,
                  const std::source_location& where) {
  for (uint64_t i = 0; i < bytes; ++i) {
    if (!is_checked(first + i) || memory[i] == pattern(rank, first + i)) continue;
    throw Failure(
        "byte " + std::to_string(first + i) + " of rank " + std::to_string(rank) + " is wrong",
        where);
  }
}

}  // namespace weft::test
