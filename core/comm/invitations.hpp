// SPDX-License-Identifier: Apache-2.0
// How members of a communicator meet for a sub communicator: the lowest of them opens a root and
// posts its root info to the others, with the list of members. Who passed another list tells it.
// Ranks that are no members take no part.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "control/control.hpp"

namespace weft::comm {

/// One rank's letter box for all sub communicators of one parent. Any thread.
class Invitations : public std::enable_shared_from_this<Invitations> {
 public:
  /// Stands in front of its messages, where those of memory groups have their space.
  static constexpr uint32_t kSpace = 0;

  /// A sub communicator in the making.
  struct Wish {
    std::string name;
    std::vector<uint32_t> members;  // ranks of the parent, in their new order
    uint32_t first = 0;             // the lowest of them
    std::optional<HcclRootInfo> root;
    std::optional<Error> failure;
    std::string hint;                 // why a member may not come
    std::set<uint32_t> receipts_due;  // members that may still follow what was withdrawn
    bool counts = true;               // the parent must not go away
  };

  /// This rank's part in a sub communicator in the making.
  class Meeting {
   public:
    Meeting(std::shared_ptr<Invitations> box, std::shared_ptr<Wish> wish)
        : box_(std::move(box)), wish_(std::move(wish)) {}
    ~Meeting();
    Meeting(const Meeting&) = delete;
    Meeting& operator=(const Meeting&) = delete;

    /// Blocks until there is one. Throws Error: HCCL_E_TIMEOUT, HCCL_E_REMOTE (the first member is
    /// gone), HCCL_E_UNAVAIL (this rank's parent is).
    HcclRootInfo root(std::chrono::milliseconds timeout);
    /// Why it cannot come about, if the parent knows.
    std::optional<Error> failure() const;
    /// What may be why a member does not come; empty if nothing is known.
    std::string hint() const;
    /// It did not come about: who has not followed this invitation yet shall not. Ranks that fit
    /// together (the code is not HCCL_E_PARA) may try again as if nothing had been once the lowest
    /// one knows that it failed: for it this blocks until all members know, a second at most.
    void withdraw(const Error& why) noexcept;
    /// The parent may go away.
    void release() noexcept;

   private:
    const std::shared_ptr<Invitations> box_;
    const std::shared_ptr<Wish> wish_;
  };

  /// `session` is that of the parent until close().
  Invitations(control::Session& session, uint32_t rank) : session_(&session), rank_(rank) {}

  /// Begins; the lowest member's root is on `device` and listens as `network` says. Waits for
  /// nobody. The n-th of a name and first member meets the n-th of the others. Throws Error:
  /// HCCL_E_REMOTE (a member is gone), HCCL_E_NETWORK, HCCL_E_PARA (a member waits for this rank
  /// with another list).
  std::unique_ptr<Meeting> arrange(const std::string& name, const std::vector<uint32_t>& members,
                                   int32_t device, const control::Network& network);

  /// A meeting needs the parent.
  [[nodiscard]] bool awaited() const;

  void close();
  // On the control thread.
  void on_message(uint32_t from, std::span<const std::byte> bytes) noexcept;
  void on_peer_gone(uint32_t rank, const std::string& what) noexcept;
  void on_cut_off(const std::string& why) noexcept;

 private:
  struct Letter {
    uint32_t from;
    std::string name;
    std::string identifier;
    HcclRootInfo root;
    std::vector<uint32_t> members;
    std::optional<Error> failure;  // whoever wishes for it gets this instead
  };

  void invite(Wish& wish);
  void need_all(const Wish& wish) const;
  void take_letters(Wish& wish);
  void take_in(Letter letter);
  void take_withdrawal(const std::string& identifier, const Error& why);
  void take_answer(const std::string& identifier, const Error& told);
  [[nodiscard]] static bool crosses(const Letter& letter, const Wish& wish);
  [[nodiscard]] Error dispute(const Letter& letter, const Wish& wish);
  void take_receipt(uint32_t from, const std::string& identifier);
  bool tell(uint32_t to, uint32_t kind, const std::string& identifier, const Error& what) noexcept;
  void post(uint32_t to, std::span<const std::byte> bytes);
  void withdraw(Wish& wish, const Error& why) noexcept;
  [[nodiscard]] std::string why_late(const Wish& wish) const;

  mutable std::mutex mutex_;  // of all below
  std::condition_variable changed_;
  control::Session* session_;
  const uint32_t rank_;
  std::list<std::shared_ptr<Wish>> wishes_;
  std::list<Letter> letters_;  // nobody wished for so far, in the order in which they came
  std::map<uint32_t, std::string> gone_;
  std::optional<Error> cut_off_;
};

}  // namespace weft::comm
