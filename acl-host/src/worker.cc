// SPDX-License-Identifier: Apache-2.0
// The background thread: it looks often while it has work, seldom while synchronisers do the work,
// and sleeps when nothing happens.
#include "worker.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctime>
#include <exception>

#include "stream.hpp"

namespace weft::acl {

constinit std::atomic<uint32_t> g_worker_state{kWorkerAbsent};

namespace {

constexpr int64_t kNapNs = 50'000;          // between looks while there is work
constexpr int64_t kDozeNs = 1'000'000;      // between looks while others do the work
constexpr int64_t kBusyNs = 1'000'000;      // keeps looking often this long after a success
constexpr int64_t kActiveNs = 100'000'000;  // dozes this long after the last task, then sleeps

static_assert(sizeof g_worker_state == sizeof(uint32_t));  // it is a futex

uint32_t* futex_word() noexcept { return reinterpret_cast<uint32_t*>(&g_worker_state); }

// Waits while the state is `state`, for at most `ns` (-1: without a limit).
void futex_wait(uint32_t state, int64_t ns) noexcept {
  const timespec timeout{ns / 1'000'000'000, ns % 1'000'000'000};
  syscall(SYS_futex, futex_word(), FUTEX_WAIT_PRIVATE, state, ns < 0 ? nullptr : &timeout, nullptr,
          0);
}

void nap() noexcept {
  const timespec duration{0, kNapNs};
  nanosleep(&duration, nullptr);
}

/// What one look at all streams found.
struct Look {
  bool moved = false;     // a task was executed
  bool again = false;     // a task waits for something
  bool fresh = false;     // a stream that is usually synchronised has tasks: leave it a moment
  bool attended = false;  // somebody else is at it
  uint64_t tails = 0;     // sum of all positions: changes when anything is queued
  uint64_t unattended_tails = 0;  // the same of streams that nobody usually synchronises
};

bool unattended(const Stream& stream) noexcept {
  return stream.sync_style.load(std::memory_order_relaxed) <= 0;
}

void look_at(Stream& stream, Look& look) noexcept {
  const uint64_t tail = stream.tail.load(std::memory_order_seq_cst);
  look.tails += tail;
  if (unattended(stream)) look.unattended_tails += tail;
  if (stream.idle()) return;
  if (stream.synchronisers.load(std::memory_order_relaxed) > 0 ||
      stream.executor_lock.load(std::memory_order_relaxed) != 0) {
    look.attended = true;
    return;
  }
  const uint64_t done = stream.done.load(std::memory_order_relaxed);
  if (stream.sync_style.load(std::memory_order_relaxed) > 0 && stream.seen_by_worker != done) {
    stream.seen_by_worker = done;
    look.fresh = true;
    return;
  }
  Progress progress;
  if (!help(stream, &progress)) {
    look.attended = true;
    return;
  }
  look.moved |= progress.moved;
  look.again |= progress.again;
}

Look look_at_all() noexcept {
  Look look;
  g_streams.for_each([&look](Stream& stream) { look_at(stream, look); });
  return look;
}

bool anything_queued() noexcept {
  bool queued = false;
  g_streams.for_each([&queued](Stream& stream) {
    queued |=
        stream.tail.load(std::memory_order_seq_cst) != stream.done.load(std::memory_order_acquire);
  });
  return queued;
}

// Not if a stream that would have woken the worker got a task since the look.
void doze(const Look& look) noexcept {
  g_worker_state.store(kWorkerDozing, std::memory_order_seq_cst);
  uint64_t tails = 0;
  g_streams.for_each([&tails](const Stream& stream) {
    if (unattended(stream)) tails += stream.tail.load(std::memory_order_seq_cst);
  });
  if (tails == look.unattended_tails) futex_wait(kWorkerDozing, kDozeNs);
  g_worker_state.store(kWorkerAwake, std::memory_order_relaxed);
}

void sleep_until_woken() noexcept {
  g_worker_state.store(kWorkerAsleep, std::memory_order_seq_cst);
  // Whoever queues a task publishes it before looking at the state, so one of both sees the other.
  while (!anything_queued() && g_worker_state.load(std::memory_order_seq_cst) == kWorkerAsleep) {
    futex_wait(kWorkerAsleep, -1);
  }
  g_worker_state.store(kWorkerAwake, std::memory_order_relaxed);
}

void work() noexcept {
  uint64_t tails = 0;
  int64_t last_active = now_ns();
  int64_t last_moved = last_active;
  bool gave_a_moment = false;  // the look before this one found a fresh stream, too
  for (;;) {
    const Look look = look_at_all();
    const int64_t now = now_ns();
    if (look.tails != tails) last_active = now;
    tails = look.tails;
    if (look.moved) {
      last_moved = now;
    } else if (look.again && now - last_moved < kBusyNs) {
      sched_yield();
    } else if (look.again || (look.fresh && !gave_a_moment) || now - last_moved < kBusyNs) {
      nap();
    } else if (look.fresh || look.attended || now - last_active < kActiveNs) {
      doze(look);
    } else {
      sleep_until_woken();
    }
    gave_a_moment = look.fresh;
  }
}

void* run(void*) noexcept {
  prctl(PR_SET_TIMERSLACK, 1'000UL);  // or every short wait takes 50 us longer
  pthread_setname_np(pthread_self(), "weft-acl");
  work();
  return nullptr;
}

// The application's signals are not for this thread. Returns an error number, 0 for none.
int start() noexcept {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&thread, &attributes, run, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  return error;
}

// Once: every task tries again, and synchronising works anyway.
void tell_of_no_worker(int error) noexcept {
  static std::atomic<bool> told{false};
  if (told.exchange(true)) return;
  try {
    store_text(("no thread for streams, which go on only while a thread waits for them: " +
                explain_no_thread(error))
                   .c_str());
  } catch (const std::exception&) {
    return;  // no memory for a text either
  }
}

}  // namespace

void wake_worker() noexcept {
  uint32_t state = g_worker_state.load(std::memory_order_seq_cst);
  if (state == kWorkerAwake || !g_worker_state.compare_exchange_strong(state, kWorkerAwake)) return;
  if (state != kWorkerAbsent) {
    syscall(SYS_futex, futex_word(), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  } else if (const int error = start()) {
    g_worker_state.store(kWorkerAbsent);
    tell_of_no_worker(error);
  }
}

}  // namespace weft::acl
