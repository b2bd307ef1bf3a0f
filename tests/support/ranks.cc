// SPDX-License-Identifier: Apache-2.0
// What a rank can do, and the checks.
#include "ranks.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <thread>

#include "shared.hpp"
#include "weft/comm.h"

namespace weft::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kEventually{10};

// Processes share the words, so the private futexes of std::atomic::wait do not serve.
void futex_wait(std::atomic<uint32_t>& word, uint32_t seen) {
  const timespec limit{0, 50'000'000};  // then the caller looks around
  syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

void check_group(const Shared& shared) {
  if (shared.failed.load() != 0 || Clock::now() > shared.deadline) throw Stopped{};
}

std::string error_text() {
  const char* text = weft_last_error();
  return text == nullptr || *text == '\0' ? "no text" : text;
}

}  // namespace

Rank::Rank(Shared& shared, uint32_t rank, uint32_t ranks)
    : shared_(shared), rank_(rank), ranks_(ranks) {
  uint32_t devices = 0;
  ok(aclrtGetDeviceCount(&devices));
  device_ = static_cast<int32_t>(rank % devices);
}

void Rank::note(const std::string& what) {
  snprintf(shared_.notes[rank_], sizeof shared_.notes[rank_], "%s", what.c_str());
}

void Rank::sync() {
  const uint32_t generation = shared_.generation.load();
  if (shared_.arrived.fetch_add(1) + 1 == ranks_) {
    shared_.arrived.store(0);
    shared_.generation.store(generation + 1);
    futex_wake(shared_.generation);
    return;
  }
  while (shared_.generation.load() == generation) {
    futex_wait(shared_.generation, generation);
    check_group(shared_);
  }
}

void Rank::event(uint32_t counter) {
  shared_.counters[counter].fetch_add(1);
  futex_wake(shared_.counters[counter]);
}

void Rank::await(uint32_t counter, uint32_t value) {
  for (;;) {
    const uint32_t seen = shared_.counters[counter].load();
    if (seen >= value) return;
    futex_wait(shared_.counters[counter], seen);
    check_group(shared_);
  }
}

uint32_t Rank::counted(uint32_t counter) const { return shared_.counters[counter].load(); }

HcclRootInfo Rank::share_root() {
  if (rank_ == 0) ok(HcclGetRootInfo(&shared_.root));
  sync();
  const HcclRootInfo root = shared_.root;
  sync();
  return root;
}

HcclComm Rank::join(const HcclCommConfig* config) {
  const HcclRootInfo root = share_root();
  HcclComm comm = nullptr;
  if (config == nullptr) {
    ok(HcclCommInitRootInfo(ranks_, &root, rank_, &comm));
  } else {
    ok(HcclCommInitRootInfoConfig(ranks_, &root, rank_, config, &comm));
  }
  return comm;
}

void Rank::die() {
  shared_.may_end[rank_].store(true);
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

void Rank::exit_process() {
  shared_.may_end[rank_].store(true);
  std::exit(0);
}

void ok(HcclResult code, const std::source_location& where) {
  if (code == HCCL_SUCCESS) return;
  throw Failure(
      "HCCL error " + std::to_string(code) + " (" + HcclGetErrorString(code) + "): " + error_text(),
      where);
}

void ok(aclError code, const std::source_location& where) {
  if (code == ACL_SUCCESS) return;
  const char* text = aclGetRecentErrMsg();
  throw Failure("ACL error " + std::to_string(code) + ": " + (text == nullptr ? "no text" : text),
                where);
}

void refused(HcclResult code, HcclResult wanted, std::initializer_list<std::string> parts,
             const std::source_location& where) {
  const std::string text = error_text();
  check(code == wanted,
        "returned " + std::to_string(code) + ", not " + std::to_string(wanted) + ": " + text,
        where);
  const char* acl = aclGetRecentErrMsg();
  const std::string acl_text = acl == nullptr ? "" : acl;
  for (const std::string& part : parts) {
    check(contains(text, part), "no \"" + part + "\" in weft_last_error(): " + text, where);
    check(contains(acl_text, part), "no \"" + part + "\" in aclGetRecentErrMsg(): " + acl_text,
          where);
  }
}

void check(bool condition, const std::string& what, const std::source_location& where) {
  if (!condition) throw Failure(what, where);
}

void eventually(const std::function<bool()>& condition, const std::string& what,
                const std::source_location& where) {
  const Clock::time_point deadline = Clock::now() + kEventually;
  while (!condition()) {
    check(Clock::now() < deadline, "not within 10 s: " + what, where);
    std::this_thread::yield();
  }
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(all), end(all)));
}

}  // namespace weft::test
