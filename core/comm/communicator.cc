// SPDX-License-Identifier: Apache-2.0
#include "comm/communicator.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "comm/remains.hpp"
#include "comm/trace.hpp"

namespace weft::comm {
namespace {

// Polls of a signal before the thread is given back, when every rank can have a core: about 1 us.
// More buys nothing, and if the peer's thread waits for this very core, every poll is lost.
constexpr uint32_t kSpins = 32;

/// What a rank tells about itself. Behind it come the transport's descriptions of the endpoint and,
/// if there is a second one, of that of the tasks engine.
struct Blob {
  uint64_t board;
  uint64_t shared;  // of the tasks engine
  uint64_t length;  // of the first description
  uint64_t magic;   // rank 0's is that of all boards
  cpu_set_t cores;  // that its thread may run on
};

/// Throws Error.
Blob blob_of(const control::Peer& peer) {
  Blob blob{};
  if (peer.blob.size() >= sizeof blob) std::memcpy(&blob, peer.blob.data(), sizeof blob);
  if (peer.blob.size() < sizeof blob || blob.length > peer.blob.size() - sizeof blob) {
    throw Error(HCCL_E_INTERNAL, "a rank described itself with too few bytes");
  }
  return blob;
}

/// One of the descriptions. Throws Error.
std::span<const std::byte> description(const control::Peer& peer, bool second) {
  const Blob blob = blob_of(peer);
  const auto all = std::as_bytes(std::span(peer.blob)).subspan(sizeof blob);
  return second ? all.subspan(blob.length) : all.first(blob.length);
}

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

/// Different for every communicator that there ever was on this host.
uint64_t new_magic() {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
    throw Error(HCCL_E_SYSCALL, "the system gives no random numbers");
  }
  return exec::Board::kMagic ^ number;
}

/// Of this thread; none if nobody knows.
cpu_set_t usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) CPU_ZERO(&set);
  return set;
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
      policy_use_(Library::instance().use_of(*policy_)),
      transport_(Library::instance().transport(policy_->settings().transport)),
      opened_(Library::instance().memories(*policy_)),
      pid_(getpid()),
      traces_(tracing() || options_.entry_log || options_.debug.tasks),
      deterministic_(options_.deterministic),
      deterministic_of_plans_(options_.deterministic),
      tasks_(std::make_unique<exec::Task[]>(kTasks + 1)) {
  if (policy_use_ != nullptr) policy_use_->enter(rank_);
}

std::unique_ptr<Communicator> Communicator::create(const HcclRootInfo& root, uint32_t ranks,
                                                   uint32_t rank,
                                                   std::shared_ptr<const config::Policy> policy,
                                                   Options options) {
  std::unique_ptr<Communicator> made = open(ranks, rank, std::move(policy), std::move(options));
  made->join(root, made->options_.connect_timeout);
  return made;
}

std::unique_ptr<Communicator> Communicator::open(uint32_t ranks, uint32_t rank,
                                                 std::shared_ptr<const config::Policy> policy,
                                                 Options options) {
  if (policy->settings().require_check) {
    Library::instance().proofs().require(*policy, ranks, options.algo);
  }
  std::unique_ptr<Communicator> made(
      new Communicator(ranks, rank, std::move(policy), std::move(options)));
  made->open_endpoint();
  return made;
}

void Communicator::join(const HcclRootInfo& root, std::chrono::milliseconds timeout) {
  meet(root, timeout);
  connect();
}

const std::string& Communicator::server_of(uint32_t rank) const noexcept {
  return options_.servers.empty() ? session_->peers()[rank].host : options_.servers[rank];
}

uint32_t Communicator::servers() const {
  std::set<std::string_view> distinct;
  for (uint32_t r = 0; r < ranks_; ++r) distinct.insert(server_of(r));
  return static_cast<uint32_t>(distinct.size());
}

uint32_t Communicator::ranks_per_server() const {
  std::map<std::string_view, uint32_t> counts;
  for (uint32_t r = 0; r < ranks_; ++r) ++counts[server_of(r)];
  const uint32_t first = counts.begin()->second;
  const bool alike =
      std::ranges::all_of(counts, [first](const auto& each) { return each.second == first; });
  return alike ? first : 0;
}

/// Where an experiment may take some call of this communicator.
void Communicator::open_experiments() {
  if (ranks_ == 1) return;
  config::Query query;
  query.ranks = ranks_;
  query.hosts = hosts_;
  query.ranks_per_host = ranks_per_host_;
  query.communicator = name();
  const bool any =
      std::ranges::any_of(policy_->experiments(), [&](const config::Experiment& experiment) {
        return config::may_match(experiment.calls, query);
      });
  if (!any) return;
  if (tasks_engine_ != nullptr) {
    if (rank_ == 0) {
      log::warn(
          fmt::format("communicator {}: the experiments of the policy {} have no effect, "
                      "since calls of the tasks engine are not timed",
                      name(), policy_->name()));
    }
    return;
  }
  setup_.times_calls = true;
  experiments_ = std::make_shared<Experiments>(
      policy_, magic_,
      ExperimentQuestions{
          .query = [this](const CallKey& key) { return query_of(key); },
          .doubt = [this](const config::Rule& arm, const CallKey& key) { return doubt(arm, key); },
          .speaks = rank_ == 0});
  experiments_->set_deterministic(deterministic_of_plans_ != 0);
  reporter_ = std::make_unique<ExperimentReporter>(
      experiments_, ExperimentSite{policy_->name(), name(), magic_, rank_, ranks_},
      options_.experiments);
}

std::vector<ExperimentReport> Communicator::experiment_reports() const {
  return reporter_ == nullptr ? std::vector<ExperimentReport>() : reporter_->reports();
}

void Communicator::tell_experiments() const {
  if (reporter_ != nullptr) reporter_->tell();
}

void Communicator::tell_idle_policy() {
  const std::shared_ptr<PolicyUse> use = std::exchange(policy_use_, nullptr);
  if (use != nullptr && use->leave()) use->tell_if_idle(*policy_);
}

/// The tasks engine has an endpoint of its own. The direct one comes beside it where the transport
/// offers both: for what streams cannot do.
void Communicator::open_endpoint() {
  const weft_transport& t = *transport_.table;
  check(t.get_device(transport_.context, &device_), "no current device");
  weft_endpoint_params params{};
  params.head = WEFT_HEAD(weft_endpoint_params);
  params.rank = rank_;
  params.ranks = ranks_;
  params.device = device_;
  if (policy_->settings().engine == "tasks") {
    weft_endpoint_params wanted = params;
    TasksEngine::ask_for(wanted);
    tasks_engine_ = TasksEngine::open(t, transport_.context, wanted, options_.scratch_bytes);
  }
  params.engine = WEFT_ENGINE_DIRECT;
  const int32_t code = t.endpoint_open(transport_.context, &params, &endpoint_);
  if (code == WEFT_E_NOT_SUPPORT && tasks_engine_ != nullptr) {
    static_cast<void>(plugin::take_failure());
    endpoint_ = tasks_engine_->endpoint();
    return;
  }
  check(code, "opening an endpoint");
  allocate_board();
}

/// Of a Scratch area of the direct engine.
uint64_t Communicator::scratch_bytes() const noexcept {
  const uint64_t buffer = options_.scratch_bytes;
  return tasks_engine_ == nullptr ? buffer : exec::scratch_beside_tasks(buffer);
}

void Communicator::allocate_board() {
  const weft_transport& t = *transport_.table;
  void* memory = nullptr;
  const exec::BoardLayout layout = exec::board_layout(ranks_, scratch_bytes());
  if (t.allocate(endpoint_, layout.bytes, &memory) != HCCL_SUCCESS) {
    clear_remains();
    check(t.allocate(endpoint_, layout.bytes, &memory), "allocating the HCCL buffer");
  }
  std::memset(memory, 0, layout.scratch_offset[0]);  // device memory may hold what was there before
  board_ = static_cast<exec::Board*>(memory);
}

std::vector<std::byte> Communicator::describe_endpoints() const {
  Blob blob{reinterpret_cast<uint64_t>(board_), 0, 0, new_magic(), usable_cores()};
  if (tasks_engine_ != nullptr) blob.shared = tasks_engine_->shared();
  std::vector<std::byte> bytes(sizeof blob);
  const auto add = [&](void* endpoint) {
    uint64_t length = 0;
    check(transport_.table->describe(endpoint, nullptr, &length), "describing the endpoint");
    const size_t at = bytes.size();
    bytes.resize(at + length);
    check(transport_.table->describe(endpoint, bytes.data() + at, &length),
          "describing the endpoint");
    bytes.resize(at + length);
    return length;
  };
  blob.length = add(endpoint_);
  if (has_both_engines()) add(tasks_engine_->endpoint());
  std::memcpy(bytes.data(), &blob, sizeof blob);
  return bytes;
}

void Communicator::meet(const HcclRootInfo& root, std::chrono::milliseconds timeout) {
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
      {"engines", has_both_engines() ? "tasks, direct" : policy_->settings().engine},
      {"HCCL buffer (bytes)", std::to_string(options_.scratch_bytes)},
      {"deterministic", options_.deterministic != 0 ? "1" : "0"},
      {"hcclBufferName", options_.buffer_name},
  };
  hello.blob = describe_endpoints();
  session_ = control::Session::join(root, std::move(hello), timeout, options_.detection);
  magic_ = blob_of(session_->peers()[0]).magic;
  if (board_ != nullptr) board_->identity.magic.store(magic_, std::memory_order_release);
}

/// Of one of the endpoints of all ranks.
std::vector<weft_peer_view> Communicator::connect(void* endpoint, bool second,
                                                  weft_endpoint_info& info) const {
  std::vector<const void*> blobs;
  std::vector<uint64_t> lengths;
  for (const control::Peer& peer : session_->peers()) {
    const auto bytes = description(peer, second);
    blobs.push_back(bytes.data());
    lengths.push_back(bytes.size());
  }
  std::vector<weft_peer_view> views(ranks_);
  info.head = WEFT_HEAD(weft_endpoint_info);
  check(transport_.table->connect(endpoint, blobs.data(), lengths.data(), views.data(), &info),
        "connecting to the other ranks");
  return views;
}

void Communicator::connect() {
  hosts_ = servers();
  ranks_per_host_ = ranks_per_server();
  set_up(connect(endpoint_, false, info_));
  // A rank may end as soon as it is here, but its memory can be mapped only while it lives.
  session_->barrier(options_.connect_timeout);
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
  invitations_ = std::make_shared<Invitations>(*session_, rank_);
  if (options_.debug.resources) log_resources();
  registrations_ = std::make_unique<Registrations>(*session_, rank_, ranks_);
  open_experiments();
  session_->watch(this);
}

void Communicator::set_up(const std::vector<weft_peer_view>& views) {
  setup_.transport = transport_.table;
  setup_.magic = magic_;
  setup_.rank = rank_;
  setup_.ranks = ranks_;
  setup_.scratch_bytes = scratch_bytes();
  setup_.timeout = options_.exec_timeout;
  setup_.monitor = options_.monitor;
  setup_.diagnose = options_.diagnose;
  if (options_.sub) setup_.label = fmt::format("communicator {}: ", name());
  weft_endpoint_info unused{};
  const std::vector<weft_peer_view> of_tasks =
      has_both_engines() ? connect(tasks_engine_->endpoint(), true, unused) : views;
  std::vector<int64_t> deltas;
  cpu_set_t cores;  // of all: each rank may be bound to its own
  CPU_ZERO(&cores);
  for (uint32_t r = 0; r < ranks_; ++r) {
    const control::Peer& peer = session_->peers()[r];
    const Blob there = blob_of(peer);
    CPU_OR(&cores, &cores, &there.cores);
    if (tasks_engine_ != nullptr) {
      tasks_engine_->add_peer(there.shared + static_cast<uint64_t>(of_tasks[r].delta));
    }
    const uint64_t board = there.board + static_cast<uint64_t>(views[r].delta);
    setup_.boards.push_back(board_ == nullptr ? tasks_engine_->board(r)
                                              : reinterpret_cast<exec::Board*>(board));
    deltas.push_back(views[r].delta);
    setup_.peer_names.push_back(fmt::format("rank {} (host {}, pid {})", r, peer.host, peer.pid));
  }
  setup_.spins = ranks_ <= static_cast<uint32_t>(CPU_COUNT(&cores)) ? kSpins : 0;
  const auto plugins = std::count_if(opened_.begin(), opened_.end(),
                                     [](const OpenMemory& each) { return each.plugin != nullptr; });
  setup_.map = std::make_unique<exec::AddressMap>(std::move(deltas), 1 + plugins);
}

int32_t Communicator::health() const noexcept {
  if (getpid() != pid_) return HCCL_E_UNAVAIL;  // a forked child does not see the others' memory
  const int32_t code = watch_->health();
  return code != 0 ? code : watch_->look_at_boards();
}

Communicator::Scope::Scope(const Communicator& entered)
    : table_(*entered.transport_.table), endpoint_(entered.endpoint_) {
  check(table_.enter(endpoint_, &previous_), "setting the communicator's device");
}

Communicator::~Communicator() {
  if (policy_use_ != nullptr) static_cast<void>(policy_use_->leave());
  if (invitations_ != nullptr && getpid() == pid_) invitations_->close();
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
  if (board_ == nullptr && tasks_engine_ != nullptr) return;  // that closes the only endpoint
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
  invitations_->on_peer_gone(rank, what);
  for (const auto& memory : memories_) memory->on_peer_gone(rank);
  registrations_->on_peer_gone(rank);
  if (tasks_engine_ != nullptr) tasks_engine_->peer_gone();
}

void Communicator::on_cut_off(const std::string& why) noexcept {
  invitations_->on_cut_off(why);
  for (const auto& memory : memories_) memory->on_cut_off(why);
  registrations_->on_cut_off(why);
}

void Communicator::on_peer_left(uint32_t rank) noexcept {
  watch_->peer_left(rank);
  invitations_->on_peer_gone(rank, setup_.peer_names[rank] + " has destroyed the communicator");
  for (const auto& memory : memories_) memory->on_peer_gone(rank);
  registrations_->on_peer_gone(rank);
  if (tasks_engine_ != nullptr) tasks_engine_->peer_gone();
}

}  // namespace weft::comm
