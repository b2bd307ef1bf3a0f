// SPDX-License-Identifier: Apache-2.0
#include "comm/communicator.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "comm/remains.hpp"
#include "comm/trace.hpp"

namespace weft::comm {
namespace {

// Polls of a signal before the thread is given back, when every rank can have a core: about 1 us.
// More buys nothing, and if the peer's thread waits for this very core, every poll is lost.
constexpr uint32_t kSpins = 32;

/// What the core adds to the transport's blob: where this rank's board or shared memory is.
struct BoardBlob {
  uint64_t address;
  uint64_t bytes;
};

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

uint32_t usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<uint32_t>(CPU_COUNT(&set));
}

std::vector<std::string> names_of(const std::vector<OpenMemory>& memories) {
  std::vector<std::string> names;
  for (const OpenMemory& each : memories) {
    if (each.plugin != nullptr) names.push_back(each.plugin->name);
  }
  return names;
}

/// Throws for a code of a transport function, with the transport's own reason.
void check(int32_t code, const char* what) {
  if (code == HCCL_SUCCESS) return;
  throw Error(static_cast<HcclResult>(code), fmt::format("{}: {}", what, plugin::take_failure()));
}

}  // namespace

Communicator::Communicator(uint32_t ranks, uint32_t rank,
                           std::shared_ptr<const config::Policy> policy, Options options)
    : ranks_(ranks),
      rank_(rank),
      policy_(std::move(policy)),
      options_(std::move(options)),
      transport_(Library::instance().transport(policy_->settings().transport)),
      opened_(Library::instance().memories(*policy_)),
      pid_(getpid()),
      traces_(tracing()),
      tasks_(std::make_unique<exec::Task[]>(kTasks)) {}

std::unique_ptr<Communicator> Communicator::create(const HcclRootInfo& root, uint32_t ranks,
                                                   uint32_t rank,
                                                   std::shared_ptr<const config::Policy> policy,
                                                   Options options) {
  std::unique_ptr<Communicator> made(
      new Communicator(ranks, rank, std::move(policy), std::move(options)));
  made->magic_ = exec::Board::kMagic ^ std::hash<std::string>()(control::root_identifier(root));
  made->open_endpoint();
  made->join(root);
  made->connect();
  return made;
}

void Communicator::open_endpoint() {
  const weft_transport& t = *transport_.table;
  check(t.get_device(transport_.context, &device_), "no current device");
  weft_endpoint_params params{};
  params.head = WEFT_HEAD(weft_endpoint_params);
  params.rank = rank_;
  params.ranks = ranks_;
  params.device = device_;
  params.engine = WEFT_ENGINE_DIRECT;
  const bool tasks = policy_->settings().engine == "tasks";
  if (tasks) {
    TasksEngine::ask_for(params);
    tasks_engine_ = TasksEngine::open(t, transport_.context, params, options_.scratch_bytes);
    endpoint_ = tasks_engine_->endpoint();
    return;
  }
  check(t.endpoint_open(transport_.context, &params, &endpoint_), "opening an endpoint");
  void* memory = nullptr;
  const exec::BoardLayout layout = exec::board_layout(ranks_, options_.scratch_bytes);
  if (t.allocate(endpoint_, layout.bytes, &memory) != HCCL_SUCCESS) {
    clear_remains();
    check(t.allocate(endpoint_, layout.bytes, &memory), "allocating the HCCL buffer");
  }
  std::memset(memory, 0, layout.scratch_offset[0]);  // device memory may hold what was there before
  board_ = static_cast<exec::Board*>(memory);
  board_->identity.magic.store(magic_, std::memory_order_release);
}

void Communicator::join(const HcclRootInfo& root) {
  control::Hello hello;
  hello.ranks = ranks_;
  hello.rank = rank_;
  hello.host = host_name();
  hello.pid = getpid();
  hello.device = device_;
  hello.name = options_.name;
  hello.facts = {
      {"policy (digest)", policy_->digest()},
      {"HCCL_ALGO / hcclAlgo", options_.algo.canonical()},  // before the plugins that it asks for
      {"plugins", Library::instance().versions_of(policy_->plugins(options_.algo))},
      {"memory plugins", Library::instance().versions_of(names_of(opened_))},
      {"HCCL buffer (bytes)", std::to_string(options_.scratch_bytes)},
      {"deterministic", options_.deterministic ? "1" : "0"},
  };
  const uint64_t here =
      tasks_engine_ != nullptr ? tasks_engine_->shared() : reinterpret_cast<uint64_t>(board_);
  const BoardBlob where{here, 0};
  uint64_t length = 0;
  check(transport_.table->describe(endpoint_, nullptr, &length), "describing the endpoint");
  hello.blob.resize(sizeof where + length);
  std::memcpy(hello.blob.data(), &where, sizeof where);
  check(transport_.table->describe(endpoint_, hello.blob.data() + sizeof where, &length),
        "describing the endpoint");
  hello.blob.resize(sizeof where + length);
  session_ = control::Session::join(root, std::move(hello), options_.connect_timeout);
}

void Communicator::connect() {
  std::vector<const void*> blobs;
  std::vector<uint64_t> lengths;
  for (const control::Peer& peer : session_->peers()) {
    if (peer.blob.size() < sizeof(BoardBlob)) {
      throw Error(HCCL_E_INTERNAL, "a rank described itself with too few bytes");
    }
    blobs.push_back(peer.blob.data() + sizeof(BoardBlob));
    lengths.push_back(peer.blob.size() - sizeof(BoardBlob));
  }
  std::vector<weft_peer_view> views(ranks_);
  info_.head = WEFT_HEAD(weft_endpoint_info);
  check(transport_.table->connect(endpoint_, blobs.data(), lengths.data(), views.data(), &info_),
        "connecting to the other ranks");
  // A rank may end as soon as it is here, but its memory can be mapped only while it lives.
  session_->barrier(options_.connect_timeout);
  set_up(views);
  watch_ = std::make_unique<exec::Watch>(setup_);
  executor_ = std::make_unique<exec::Executor>(setup_, *watch_);
  staging_ = std::make_unique<Staging>(*transport_.table, endpoint_);
  messenger_ = std::make_unique<exec::Messenger>(setup_, *watch_);
  message_staging_ = std::make_unique<MessageStaging>(*transport_.table, endpoint_);
  if (tasks_engine_ != nullptr) tasks_engine_->start(setup_, *watch_);
  if (options_.check_memory) {
    memory_check_ = std::make_unique<MemoryCheck>(*transport_.table, endpoint_);
  }
  attach_memories();
  session_->watch(this);
}

void Communicator::set_up(const std::vector<weft_peer_view>& views) {
  setup_.transport = transport_.table;
  setup_.magic = magic_;
  setup_.rank = rank_;
  setup_.ranks = ranks_;
  setup_.scratch_bytes = options_.scratch_bytes;
  setup_.spins = ranks_ <= usable_cores() ? kSpins : 0;
  setup_.timeout = options_.exec_timeout;
  std::vector<int64_t> deltas;
  for (uint32_t r = 0; r < ranks_; ++r) {
    const control::Peer& peer = session_->peers()[r];
    BoardBlob where{};
    std::memcpy(&where, peer.blob.data(), sizeof where);
    const uint64_t here = where.address + static_cast<uint64_t>(views[r].delta);
    if (tasks_engine_ != nullptr) tasks_engine_->add_peer(here);
    setup_.boards.push_back(tasks_engine_ != nullptr ? tasks_engine_->board(r)
                                                     : reinterpret_cast<exec::Board*>(here));
    deltas.push_back(views[r].delta);
    setup_.peer_names.push_back(fmt::format("rank {} (host {}, pid {})", r, peer.host, peer.pid));
  }
  const auto plugins = std::count_if(opened_.begin(), opened_.end(),
                                     [](const OpenMemory& each) { return each.plugin != nullptr; });
  setup_.map = std::make_unique<exec::AddressMap>(std::move(deltas), 1 + plugins);
}

Communicator::Scope::Scope(const Communicator& entered)
    : table_(*entered.transport_.table), endpoint_(entered.endpoint_) {
  check(table_.enter(endpoint_, &previous_), "setting the communicator's device");
}

Communicator::~Communicator() {
  if (session_ != nullptr) session_->leave();
  // A forked child shares the memory with its parent, whose communicator this is.
  if (getpid() != pid_) {
    for (auto& memory : memories_) static_cast<void>(memory.release());  // so are its threads
    static_cast<void>(tasks_engine_.release());
    return;
  }
  memories_.clear();
  staging_.reset();
  message_staging_.reset();
  if (tasks_engine_ != nullptr) return;  // closes the endpoint
  if (board_ != nullptr)
    board_->identity.magic.store(exec::closed(magic_), std::memory_order_release);
  if (executor_ != nullptr) {
    bury({transport_.table, endpoint_, board_, magic_, watch_->living_peers(), next_call_ - 1});
    return;
  }
  if (board_ != nullptr) transport_.table->release(endpoint_, board_);
  if (endpoint_ != nullptr) transport_.table->endpoint_close(endpoint_);
}

void Communicator::on_peer_lost(uint32_t rank, const std::string& what) noexcept {
  watch_->peer_lost(rank, what);
  for (const auto& memory : memories_) memory->on_peer_gone(rank);
  if (tasks_engine_ != nullptr) tasks_engine_->peer_gone();
}

void Communicator::on_cut_off(const std::string& why) noexcept {
  for (const auto& memory : memories_) memory->on_cut_off(why);
}

void Communicator::on_peer_left(uint32_t rank) noexcept {
  watch_->peer_left(rank);
  for (const auto& memory : memories_) memory->on_peer_gone(rank);
  if (tasks_engine_ != nullptr) tasks_engine_->peer_gone();
}

}  // namespace weft::comm
