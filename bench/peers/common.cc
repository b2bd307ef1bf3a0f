// SPDX-License-Identifier: Apache-2.0
#include "common.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace weft::peers {
namespace {

constexpr std::pair<const char*, Op> kOps[] = {
    {"all_reduce", Op::kAllReduce}, {"reduce_scatter", Op::kReduceScatter},
    {"reduce", Op::kReduce},        {"all_gather", Op::kAllGather},
    {"all_to_all", Op::kAllToAll},  {"broadcast", Op::kBroadcast},
    {"scatter", Op::kScatter}};

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(2);
}

Op parse_op(const std::string& text) {
  for (const auto& [name, op] : kOps) {
    if (text == name) return op;
  }
  refuse("no such operator: " + text);
}

std::vector<uint64_t> parse_sizes(const std::string& text) {
  std::vector<uint64_t> sizes;
  std::istringstream stream(text);
  for (std::string each; std::getline(stream, each, ',');) sizes.push_back(std::stoull(each));
  return sizes;
}

void set_option(const std::string& name, const std::string& value, Options* options) {
  if (name == "--op") {
    options->op = parse_op(value);
    options->op_name = value;
  } else if (name == "--sizes") {
    options->sizes = parse_sizes(value);
  } else if (name == "--queue") {
    options->queue = uint32_t(std::stoul(value));
  } else if (name == "--min-time") {
    options->min_time = std::stod(value);
  } else if (name == "--timeout") {
    options->timeout = unsigned(std::stoul(value));
  } else if (name == "--team") {
    options->team = value;
  } else if (name == "--store") {
    options->store = value;
  } else if (name == "--ranks") {
    options->ranks = uint32_t(std::stoul(value));
  } else {
    refuse("no such option: " + name);
  }
}

}  // namespace

Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--busy-poll") {
      options.busy_poll = true;
    } else if (name == "--thread-multiple") {
      options.thread_multiple = true;
    } else if (++i < argc) {
      set_option(name, argv[i], &options);
    } else {
      refuse("a value is missing: " + name);
    }
  }
  if (options.op_name.empty() || options.sizes.empty() || options.team.empty() ||
      options.queue == 0) {
    refuse("--op, --sizes and --team are needed");
  }
  return options;
}

// All zero is the state before anybody came, so a new file needs no set-up.
struct Team::Shared {
  alignas(64) std::atomic<uint32_t> arrived;
  alignas(64) std::atomic<uint32_t> round;
  struct alignas(64) Slot {
    double number;
    uint64_t count;
    alignas(64) double batch_times[kMostBatches];
  } slots[kMostRanks];
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

Team::Team(const std::string& file, uint32_t rank, uint32_t ranks) : rank_(rank), ranks_(ranks) {
  if (ranks > kMostRanks) refuse("too many ranks");
  const int fd = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(Shared)) != 0) refuse("cannot open " + file);
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (memory == MAP_FAILED) refuse("cannot map " + file);
  shared_ = static_cast<Shared*>(memory);
}

Team::~Team() { munmap(shared_, sizeof(Shared)); }

void Team::barrier() {
  const uint32_t round = shared_->round.load(std::memory_order_acquire);
  if (shared_->arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == ranks_) {
    shared_->arrived.store(0, std::memory_order_relaxed);
    shared_->round.store(round + 1, std::memory_order_release);
    return;
  }
  while (shared_->round.load(std::memory_order_acquire) == round) sched_yield();
}

double Team::largest(double value) {
  shared_->slots[rank_].number = value;
  barrier();
  double result = value;
  for (uint32_t i = 0; i < ranks_; ++i) result = std::max(result, shared_->slots[i].number);
  barrier();  // nobody overwrites what another still reads
  return result;
}

uint64_t Team::sum(uint64_t value) {
  shared_->slots[rank_].count = value;
  barrier();
  uint64_t result = 0;
  for (uint32_t i = 0; i < ranks_; ++i) result += shared_->slots[i].count;
  barrier();
  return result;
}

double& Team::batch_time(uint32_t rank, uint64_t batch) {
  return shared_->slots[rank].batch_times[batch];
}

void end_with_parent() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() == 1) std::exit(1);  // it ended before
}

}  // namespace weft::peers
