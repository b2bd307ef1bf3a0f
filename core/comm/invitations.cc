// SPDX-License-Identifier: Apache-2.0
#include "comm/invitations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "control/wire.hpp"

namespace weft::comm {
namespace {

enum : uint32_t { kInvitation = 1, kWithdrawal = 2, kReply = 3, kReceipt = 4 };

/// For the receipts of a withdrawal. Control threads answer in less than a millisecond; a process
/// that is stopped must not hold up the others.
constexpr std::chrono::seconds kReceiptTimeout{1};

bool has(const std::vector<uint32_t>& ranks, uint32_t rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

void abandon(const Invitations::Wish& wish, const Error& why) {
  control::abandon_root(*wish.root, static_cast<uint32_t>(wish.members.size()), why.code(),
                        why.what());
}

control::Encoder message(uint32_t kind) {
  control::Encoder encoder;
  encoder.u32(Invitations::kSpace).u32(kind);
  return encoder;
}

}  // namespace

std::unique_ptr<Invitations::Meeting> Invitations::arrange(const std::string& name,
                                                           const std::vector<uint32_t>& members,
                                                           int32_t device,
                                                           const control::Network& network) {
  auto wish = std::make_shared<Wish>();
  wish->name = name;
  wish->members = members;
  wish->first = *std::min_element(members.begin(), members.end());
  // Not with the lock: it waits for the control thread, which may wait for the lock.
  if (wish->first == rank_) control::open_root(&wish->root.emplace(), device, network);
  const std::lock_guard lock(mutex_);
  if (wish->first == rank_) {
    invite(*wish);
  } else {
    take_letters(*wish);
  }
  wishes_.push_back(wish);
  return std::make_unique<Meeting>(shared_from_this(), wish);
}

/// With the lock held, as all private functions.
void Invitations::invite(Wish& wish) {
  auto letter = message(kInvitation);
  letter.text(wish.name).raw(std::as_bytes(std::span(wish.root->internal)));
  for (const uint32_t member : wish.members) letter.u32(member);
  try {
    need_all(wish);
    for (const uint32_t member : wish.members) {
      if (member != rank_) post(member, letter.body());
    }
  } catch (const Error& error) {
    abandon(wish, error);
    withdraw(wish, error);
    throw;
  }
}

void Invitations::need_all(const Wish& wish) const {
  for (const auto& [rank, what] : gone_) {
    if (has(wish.members, rank)) throw Error(HCCL_E_REMOTE, what);
  }
}

void Invitations::take_letters(Wish& wish) {
  const auto found = std::find_if(letters_.begin(), letters_.end(), [&](const Letter& each) {
    return (each.from == wish.first && each.name == wish.name) || crosses(each, wish);
  });
  if (found != letters_.end()) {
    const Letter letter = std::move(*found);
    letters_.erase(found);
    if (letter.failure) throw Error(*letter.failure);
    if (letter.members != wish.members) throw dispute(letter, wish);
    wish.root = letter.root;
    return;
  }
  need_all(wish);
  if (cut_off_) throw Error(*cut_off_);
}

void Invitations::post(uint32_t to, std::span<const std::byte> bytes) {
  if (session_ == nullptr) throw Error(HCCL_E_UNAVAIL, "the parent communicator was destroyed");
  session_->post(to, bytes);
}

void Invitations::withdraw(Wish& wish, const Error& why) noexcept {
  try {
    const std::string identifier = control::root_identifier(*wish.root);
    for (const uint32_t member : wish.members) {
      if (member == rank_ || gone_.contains(member)) continue;
      if (tell(member, kWithdrawal, identifier, why)) wish.receipts_due.insert(member);
    }
  } catch (const std::exception& error) {
    log::info(fmt::format("members keep an invitation to {}: {}", wish.name, error.what()));
  }
}

void Invitations::take_in(Letter letter) {
  const auto found = std::find_if(wishes_.begin(), wishes_.end(), [&](const auto& each) {
    if (each->root || each->failure) return false;
    return (each->first == letter.from && each->name == letter.name) || crosses(letter, *each);
  });
  if (found != wishes_.end()) {
    Wish& wish = **found;
    if (letter.members == wish.members) {
      wish.root = letter.root;
    } else {
      wish.failure = dispute(letter, wish);
    }
    changed_.notify_all();
    return;
  }
  for (const auto& each : wishes_) {  // it may be done with that before it follows this one
    if (each->name != letter.name || !each->counts) continue;
    tell(letter.from, kReply, letter.identifier,
         Error(HCCL_SUCCESS, fmt::format("rank {} of the parent was waiting for {} under this name",
                                         rank_, fmt::join(each->members, ","))));
  }
  letters_.push_back(std::move(letter));
}

/// Each of the two ranks waits for the other one, with another list: that cannot end well.
bool Invitations::crosses(const Letter& letter, const Wish& wish) {
  return wish.counts && !letter.failure && letter.name == wish.name &&
         has(wish.members, letter.from) && letter.members != wish.members;
}

/// Tells the one who invited. Returns what is wrong.
Error Invitations::dispute(const Letter& letter, const Wish& wish) {
  Error why(HCCL_E_PARA,
            fmt::format("its members passed different rankIds: rank {} of the parent {}, rank {} "
                        "{}; give the same ranks in the same order to all members",
                        letter.from, fmt::join(letter.members, ","), rank_,
                        fmt::join(wish.members, ",")));
  tell(letter.from, kReply, letter.identifier, why);
  return why;
}

/// About the invitation `identifier`.
bool Invitations::tell(uint32_t to, uint32_t kind, const std::string& identifier,
                       const Error& what) noexcept {
  try {
    auto note = message(kind);
    note.text(identifier).i32(what.code()).text(what.what());
    post(to, note.body());
    return true;
  } catch (const std::exception& error) {
    log::info(fmt::format("rank {} does not learn \"{}\": {}", to, what.what(), error.what()));
    return false;
  }
}

void Invitations::take_withdrawal(const std::string& identifier, const Error& why) {
  const auto letter = std::find_if(letters_.begin(), letters_.end(), [&](const Letter& each) {
    return each.identifier == identifier;
  });
  if (letter == letters_.end()) return;
  if (why.code() != HCCL_E_PARA) {
    letters_.erase(letter);
  } else {
    letter->failure = why;
  }
}

void Invitations::take_receipt(uint32_t from, const std::string& identifier) {
  for (const auto& wish : wishes_) {
    if (wish->first != rank_ || control::root_identifier(*wish->root) != identifier) continue;
    wish->receipts_due.erase(from);
    changed_.notify_all();
  }
}

/// To an invitation of this rank.
void Invitations::take_answer(const std::string& identifier, const Error& told) {
  for (const auto& wish : wishes_) {
    if (wish->first != rank_ || control::root_identifier(*wish->root) != identifier) continue;
    if (told.code() == HCCL_SUCCESS) {
      wish->hint = told.what();
    } else {
      wish->failure = told;
      abandon(*wish, told);
    }
    return;
  }
}

std::string Invitations::why_late(const Wish& wish) const {
  std::string text = fmt::format("rank {}, the first of the members {}, did not create it",
                                 wish.first, fmt::join(wish.members, ","));
  for (const Letter& letter : letters_) {
    if (letter.name == wish.name)
      text += fmt::format("; rank {} has created one of that name with members {}", letter.from,
                          fmt::join(letter.members, ","));
  }
  return text + "; all members must call HcclCreateSubCommConfig with the same rankIds and name";
}

bool Invitations::awaited() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(wishes_.begin(), wishes_.end(), [](const auto& each) { return each->counts; });
}

void Invitations::close() {
  const std::lock_guard lock(mutex_);
  session_ = nullptr;
  for (const auto& wish : wishes_) {
    wish->receipts_due.clear();
    if (!wish->root) wish->failure = Error(HCCL_E_UNAVAIL, "the parent communicator was destroyed");
  }
  changed_.notify_all();
}

void Invitations::on_message(uint32_t from, std::span<const std::byte> bytes) noexcept {
  try {
    control::Decoder decoder(bytes);
    decoder.u32();
    const uint32_t kind = decoder.u32();
    const std::string text = decoder.text();
    const std::lock_guard lock(mutex_);
    if (kind != kInvitation) {
      const auto code = static_cast<HcclResult>(decoder.i32());
      const Error told(code, decoder.text());
      if (kind == kReply) return take_answer(text, told);
      if (kind == kReceipt) return take_receipt(from, text);
      take_withdrawal(text, told);
      tell(from, kReceipt, text, Error(HCCL_SUCCESS, ""));
      return;
    }
    Letter letter{from, text, {}, {}, {}, {}};
    decoder.raw(std::as_writable_bytes(std::span(letter.root.internal)));
    while (decoder.ok() && !decoder.complete()) letter.members.push_back(decoder.u32());
    letter.identifier = control::root_identifier(letter.root);
    take_in(std::move(letter));
  } catch (const std::exception& error) {
    log::warn(fmt::format("an invitation of rank {} is lost: {}", from, error.what()));
  }
}

void Invitations::on_peer_gone(uint32_t rank, const std::string& what) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    gone_.emplace(rank, what);
    for (const auto& wish : wishes_) {
      if (!has(wish->members, rank)) continue;
      wish->receipts_due.erase(rank);
      wish->failure = Error(HCCL_E_REMOTE, what);
      if (wish->first == rank_) abandon(*wish, *wish->failure);
    }
    changed_.notify_all();
  } catch (const std::exception& error) {
    log::warn(fmt::format("the end of rank {} is noticed late: {}", rank, error.what()));
  }
}

void Invitations::on_cut_off(const std::string& why) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    cut_off_ = Error(HCCL_E_REMOTE, why);
    for (const auto& wish : wishes_) {
      wish->receipts_due.clear();
      if (!wish->root) wish->failure = cut_off_;
    }
    changed_.notify_all();
  } catch (const std::exception& error) {
    log::warn(fmt::format("the end of the root is noticed late: {}", error.what()));
  }
}

Invitations::Meeting::~Meeting() {
  const std::lock_guard lock(box_->mutex_);
  box_->wishes_.remove(wish_);
}

HcclRootInfo Invitations::Meeting::root(std::chrono::milliseconds timeout) {
  std::unique_lock lock(box_->mutex_);
  const bool answered = box_->changed_.wait_for(
      lock, timeout, [&] { return wish_->root.has_value() || wish_->failure.has_value(); });
  if (wish_->root) return *wish_->root;  // whoever serves it knows best what is wrong
  if (answered) throw Error(*wish_->failure);
  throw Error(HCCL_E_TIMEOUT, fmt::format("{} ({} ms)", box_->why_late(*wish_), timeout.count()));
}

std::optional<Error> Invitations::Meeting::failure() const {
  const std::lock_guard lock(box_->mutex_);
  return wish_->failure;
}

std::string Invitations::Meeting::hint() const {
  const std::lock_guard lock(box_->mutex_);
  return wish_->hint;
}

void Invitations::Meeting::withdraw(const Error& why) noexcept {
  std::unique_lock lock(box_->mutex_);
  if (wish_->first != box_->rank_) return;
  box_->withdraw(*wish_, why);
  box_->changed_.wait_for(lock, kReceiptTimeout, [&] { return wish_->receipts_due.empty(); });
}

void Invitations::Meeting::release() noexcept {
  const std::lock_guard lock(box_->mutex_);
  wish_->counts = false;
}

}  // namespace weft::comm
