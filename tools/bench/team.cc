// SPDX-License-Identifier: Apache-2.0
#include "bench/team.hpp"

#include <fmt/core.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "command.hpp"

namespace weft::tools {

// What a rank writes, on cache lines of its own.
struct alignas(64) Team::Slot {
  std::atomic<uint64_t> entered{0};
  std::atomic<bool> through{false};
  double number = 0;
  uint64_t count = 0;
  Offer offers[kOffers] = {};
  alignas(64) double batch_times[kMostBatches];
  double limit_times[kMostBatches];
  double work_times[kMostBatches];
  double both_times[kMostBatches];
};

// Followed by a Slot for every rank.
struct Team::Shared {
  alignas(64) std::atomic<uint32_t> arrived{0};
  alignas(64) std::atomic<uint32_t> round{0};
  alignas(64) HcclRootInfo root_info{};
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

Team::Team(uint32_t ranks)
    : ranks_(ranks), bytes_(sizeof(Shared) + ranks * sizeof(Slot)), pipe_(make_pipe()) {
  static_assert(sizeof(Shared) % alignof(Slot) == 0);
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Failure(fmt::format("cannot get shared memory: {}", std::strerror(errno)));
  }
  shared_ = new (memory) Shared;
  // Default initialisation: pages of batch times are taken up only when they are used.
  for (uint32_t rank = 0; rank < ranks; ++rank) new (&slot(rank)) Slot;
  set_nonblocking(pipe_.read.get());
}

Team::~Team() { munmap(shared_, bytes_); }

Team::Slot& Team::slot(uint32_t rank) const { return reinterpret_cast<Slot*>(shared_ + 1)[rank]; }

void Team::barrier() {
  const uint32_t round = shared_->round.load(std::memory_order_acquire);
  if (shared_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks_) {
    shared_->arrived.store(0, std::memory_order_relaxed);
    shared_->round.store(round + 1, std::memory_order_release);
    return;
  }
  while (shared_->round.load(std::memory_order_acquire) == round) sched_yield();
}

double Team::largest(uint32_t rank, double value) {
  slot(rank).number = value;
  barrier();
  double result = value;
  for (uint32_t each = 0; each < ranks_; ++each) result = std::max(result, slot(each).number);
  barrier();  // nobody overwrites what another still reads
  return result;
}

uint64_t Team::sum(uint32_t rank, uint64_t value) {
  slot(rank).count = value;
  barrier();
  uint64_t result = 0;
  for (uint32_t each = 0; each < ranks_; ++each) result += slot(each).count;
  barrier();
  return result;
}

double& Team::batch_time(uint32_t rank, uint64_t batch) { return slot(rank).batch_times[batch]; }

double& Team::limit_time(uint32_t rank, uint64_t batch) { return slot(rank).limit_times[batch]; }

double& Team::work_time(uint32_t rank, uint64_t batch) { return slot(rank).work_times[batch]; }

double& Team::both_time(uint32_t rank, uint64_t batch) { return slot(rank).both_times[batch]; }

Offer& Team::offer(uint32_t rank, uint32_t index) { return slot(rank).offers[index]; }

HcclRootInfo& Team::root_info() { return shared_->root_info; }

std::atomic<uint64_t>& Team::entered(uint32_t rank) { return slot(rank).entered; }

void Team::finish(uint32_t rank) { slot(rank).through.store(true, std::memory_order_release); }

bool Team::is_through(uint32_t rank) const {
  return slot(rank).through.load(std::memory_order_acquire);
}

void Team::send(const Message& message) {
  while (write(pipe_.write.get(), &message, sizeof message) < 0 && errno == EINTR) {
  }
}

void Team::tell(uint32_t rank, const Row& row) {
  Message message{};
  message.kind = Message::kRow;
  message.rank = rank;
  message.row = row;
  send(message);
}

void Team::tell(const Creation& row) {
  Message message{};
  message.kind = Message::kCreation;
  message.creation = row;
  send(message);
}

void Team::tell(const Comparison& comparison) {
  Message message{};
  message.kind = Message::kComparison;
  message.comparison = comparison;
  send(message);
}

void Team::tell(const Standing& standing) {
  Message message{};
  message.kind = Message::kStanding;
  message.standing = standing;
  send(message);
}

void Team::tell(const Progress& progress) {
  Message message{};
  message.kind = Message::kProgress;
  message.progress = progress;
  send(message);
}

void Team::fail(uint32_t rank, std::string_view text) {
  Message message{};
  message.kind = Message::kFailure;
  message.rank = rank;
  text.copy(message.text, sizeof message.text - 1);
  send(message);
  _exit(kFailed);
}

bool Team::next_message(Message* message) {
  return read(pipe_.read.get(), message, sizeof *message) == ssize_t(sizeof *message);
}

}  // namespace weft::tools
