// SPDX-License-Identifier: Apache-2.0
// What the tests of the control plane share: ranks as threads, recorded events, waiting with a
// deadline.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "control/control.hpp"

namespace weft::control {

using std::chrono::milliseconds;

// Of every wait that is expected to succeed; generous, for loaded machines and sanitizers.
inline constexpr std::chrono::seconds kDeadline{30};

inline std::vector<std::byte> blob_of(std::uint32_t rank, std::size_t extra = 0) {
  std::vector<std::byte> blob(rank * 7 + rank % 3 + extra);
  // The values repeat: each byte of a megabyte by itself takes long with sanitizers.
  const std::size_t first = std::min<std::size_t>(blob.size(), 256);
  for (std::size_t i = 0; i < first; ++i) blob[i] = static_cast<std::byte>(rank * 31 + i * 3);
  for (std::size_t done = first, more = 0; done < blob.size(); done += more) {
    more = std::min(done, blob.size() - done);
    std::memcpy(blob.data() + done, blob.data(), more);
  }
  return blob;
}

inline bool is_blob(std::span<const std::byte> bytes, const std::vector<std::byte>& blob) {
  return bytes.size() == blob.size() &&
         (blob.empty() || std::memcmp(bytes.data(), blob.data(), blob.size()) == 0);
}

inline Hello hello_of(std::uint32_t ranks, std::uint32_t rank) {
  Hello hello;
  hello.ranks = ranks;
  hello.rank = rank;
  hello.host = "host" + std::to_string(rank);
  hello.pid = static_cast<std::int32_t>(1000 + rank);
  hello.device = static_cast<std::int32_t>(rank % 8);
  hello.name = "world";
  hello.facts = {{"the policy digest", "abc"}, {"the version", "1"}};
  hello.blob = blob_of(rank);
  return hello;
}

inline HcclRootInfo new_root() {
  HcclRootInfo info;
  open_root(&info, 0);
  return info;
}

/// Runs body(0) ... body(n - 1) at once.
inline void on_threads(std::uint32_t n, const std::function<void(std::uint32_t)>& body) {
  const auto guarded = [&body](std::uint32_t rank) {
    try {
      body(rank);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "rank " << rank << ": " << error.what();
    }
  };
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < n; ++rank) threads.emplace_back(guarded, rank);
  for (std::thread& thread : threads) thread.join();
}

struct JoinResult {
  std::unique_ptr<Session> session;
  HcclResult code = HCCL_SUCCESS;
  std::string text;
};

inline JoinResult try_join(const HcclRootInfo& info, Hello hello,
                           milliseconds timeout = kDeadline) {
  JoinResult result;
  try {
    result.session = Session::join(info, std::move(hello), timeout);
  } catch (const Error& error) {
    result.code = error.code();
    result.text = error.what();
  }
  return result;
}

/// All join at once, each with its own greeting.
inline std::vector<JoinResult> join_all(const HcclRootInfo& info, const std::vector<Hello>& hellos,
                                        milliseconds timeout = kDeadline) {
  std::vector<JoinResult> results(hellos.size());
  on_threads(static_cast<std::uint32_t>(hellos.size()),
             [&](std::uint32_t i) { results[i] = try_join(info, hellos[i], timeout); });
  return results;
}

inline std::vector<JoinResult> join_all(const HcclRootInfo& info, std::uint32_t ranks) {
  std::vector<Hello> hellos;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) hellos.push_back(hello_of(ranks, rank));
  return join_all(info, hellos);
}

struct Message {
  std::uint32_t from;
  std::vector<std::byte> bytes;
};

/// Remembers the events and messages of one session and lets a test wait for them.
class Events final : public Listener {
 public:
  void on_peer_lost(std::uint32_t rank, const std::string& what) noexcept override {
    const std::lock_guard lock(mutex_);
    lost_[rank] = what;
    changed_.notify_all();
  }
  void on_peer_left(std::uint32_t rank) noexcept override {
    const std::lock_guard lock(mutex_);
    left_.insert(rank);
    messages_before_[rank] = messages_.size();
    changed_.notify_all();
  }
  void on_message(std::uint32_t from, std::span<const std::byte> bytes) noexcept override {
    const std::lock_guard lock(mutex_);
    messages_.push_back({from, {bytes.begin(), bytes.end()}});
    changed_.notify_all();
  }

  bool wait_messages(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kDeadline, [&] { return messages_.size() >= count; });
  }
  bool wait_left(std::set<std::uint32_t> ranks) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kDeadline, [&] { return left_ == ranks; });
  }
  bool wait_lost(std::uint32_t rank) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kDeadline, [&] { return lost_.contains(rank); });
  }
  std::map<std::uint32_t, std::string> lost() {
    const std::lock_guard lock(mutex_);
    return lost_;
  }
  std::set<std::uint32_t> left() {
    const std::lock_guard lock(mutex_);
    return left_;
  }
  std::vector<Message> messages() {
    const std::lock_guard lock(mutex_);
    return messages_;
  }
  std::vector<std::vector<std::byte>> messages_from(std::uint32_t rank) {
    std::vector<std::vector<std::byte>> found;
    for (Message& message : messages())
      if (message.from == rank) found.push_back(std::move(message.bytes));
    return found;
  }
  /// How many messages had come when `rank` left.
  std::size_t messages_before_leaving_of(std::uint32_t rank) {
    const std::lock_guard lock(mutex_);
    return messages_before_[rank];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint32_t, std::string> lost_;
  std::set<std::uint32_t> left_;
  std::vector<Message> messages_;
  std::map<std::uint32_t, std::size_t> messages_before_;
};

inline bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

inline std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace weft::control
