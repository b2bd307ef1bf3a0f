// SPDX-License-Identifier: Apache-2.0
#include "comm/communicator.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "base/op_names.hpp"
#include "schedule/builder.hpp"

namespace weft::comm {
namespace {

// Polls of a signal before the thread is given back, when every rank can have a core: about 1 us.
// More buys nothing, and if the peer's thread waits for this very core, every poll is lost.
constexpr uint32_t kSpins = 32;

/// What is left of a communicator that failed: its peers read there what it called and why it gave
/// up, and may be late. The last few of a process are kept.
struct Remains {
  const weft_transport* transport;
  void* endpoint;
  void* board;
};
constexpr size_t kRemains = 4;

void bury(const Remains& remains) {
  static std::mutex mutex;
  static auto* kept = new std::deque<Remains>;  // leaked: peers may outlive static destructors
  const std::lock_guard lock(mutex);
  kept->push_back(remains);
  if (kept->size() <= kRemains) return;
  const Remains oldest = kept->front();
  kept->pop_front();
  oldest.transport->release(oldest.endpoint, oldest.board);
  oldest.transport->endpoint_close(oldest.endpoint);
}

/// What the core adds to the transport's blob: where this rank's board is.
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

/// Only the direct engine exists so far; a transport that offers none, or a policy that asks for
/// another, is an error.
void Communicator::check_engine() const {
  const config::Settings& settings = policy_->settings();
  if (settings.engine == "direct" && (transport_.table->engines & WEFT_ENGINE_DIRECT) != 0) return;
  throw Error(
      HCCL_E_NOT_SUPPORT,
      fmt::format("{}: transport '{}' has no engine '{}' that this version can drive; choose "
                  "engine = \"direct\"",
                  policy_->name(), settings.transport, settings.engine));
}

void Communicator::open_endpoint() {
  check_engine();
  const weft_transport& t = *transport_.table;
  check(t.get_device(transport_.context, &device_), "no current device");
  const weft_endpoint_params params{WEFT_HEAD(weft_endpoint_params), rank_, ranks_, device_, 0};
  check(t.endpoint_open(transport_.context, &params, &endpoint_), "opening an endpoint");
  void* memory = nullptr;
  const exec::BoardLayout layout = exec::board_layout(ranks_, options_.scratch_bytes);
  check(t.allocate(endpoint_, layout.bytes, &memory), "allocating the HCCL buffer");
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
      {"plugins", Library::instance().plugin_versions()},
      {"HCCL buffer (bytes)", std::to_string(options_.scratch_bytes)},
      {"deterministic", options_.deterministic ? "1" : "0"},
  };
  const BoardBlob where{reinterpret_cast<uint64_t>(board_), 0};
  hello.blob.resize(sizeof where + WEFT_BLOB_BYTES);
  std::memcpy(hello.blob.data(), &where, sizeof where);
  uint64_t length = WEFT_BLOB_BYTES;
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
  executor_ = std::make_unique<exec::Executor>(executor_setup(views));
  staging_ = std::make_unique<Staging>(*transport_.table, endpoint_);
  session_->watch(this);
}

exec::Setup Communicator::executor_setup(const std::vector<weft_peer_view>& views) const {
  exec::Setup setup;
  setup.transport = transport_.table;
  setup.magic = magic_;
  setup.rank = rank_;
  setup.ranks = ranks_;
  setup.scratch_bytes = options_.scratch_bytes;
  setup.spins = ranks_ <= usable_cores() ? kSpins : 0;
  setup.timeout = options_.exec_timeout;
  for (uint32_t r = 0; r < ranks_; ++r) {
    const control::Peer& peer = session_->peers()[r];
    BoardBlob where{};
    std::memcpy(&where, peer.blob.data(), sizeof where);
    const uint64_t here = where.address + static_cast<uint64_t>(views[r].delta);
    setup.boards.push_back(reinterpret_cast<exec::Board*>(here));
    setup.deltas.push_back(views[r].delta);
    setup.peer_names.push_back(fmt::format("rank {} (host {}, pid {})", r, peer.host, peer.pid));
  }
  return setup;
}

Communicator::~Communicator() {
  if (session_ != nullptr) session_->leave();
  staging_.reset();
  if (executor_ != nullptr && executor_->health() != HCCL_SUCCESS) {
    bury({transport_.table, endpoint_, board_});
    return;
  }
  if (board_ != nullptr) {
    board_->identity.magic.store(0, std::memory_order_release);
    transport_.table->release(endpoint_, board_);
  }
  if (endpoint_ != nullptr) transport_.table->endpoint_close(endpoint_);
}

void Communicator::on_peer_lost(uint32_t rank, const std::string& what) noexcept {
  executor_->peer_lost(rank, what);
}

void Communicator::on_peer_left(uint32_t rank) noexcept { executor_->peer_left(rank); }

}  // namespace weft::comm
