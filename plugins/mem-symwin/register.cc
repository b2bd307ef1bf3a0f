// SPDX-License-Identifier: Apache-2.0
// Registering a window, together with all other ranks: each offers its memory, maps that of the
// others, and hears whether all could. Whoever fails tells the others why, so that none waits; and
// what was done is undone.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <new>
#include <optional>
#include <string>

#include "context.hpp"
#include "fault.hpp"
#include "offer.hpp"

namespace weft::symwin {
namespace {

/// The first offset of a slot where the area fits. The caller holds the context's lock.
uint64_t find_space(const Member& member, const Span& span) {
  const uint64_t slot = member.heap->slot();
  const uint64_t unit = span.unit();
  uint64_t at = 0;
  uint64_t taken = 0;
  for (const auto& [offset, area] : member.areas) {
    if (at < offset && span.bytes() <= offset - at) return at;
    at = (offset + area->own.bytes() + unit - 1) / unit * unit;
    taken += area->own.bytes();
  }
  if (at <= slot && span.bytes() <= slot - at) return at;
  throw Fault(WEFT_E_MEMORY,
              fmt::format("no room for a window of {} bytes: other windows take {} of {}; "
                          "deregister some or raise hcclSymWinMaxMemSizePerRank",
                          span.bytes(), taken, slot));
}

/// The area that the memory lies in, or nullptr. The caller holds the context's lock.
Area* find_area(const Member& member, const Span& span) {
  for (const auto& [offset, area] : member.areas) {
    const Span& own = area->own;
    if (!own.overlaps(span.base(), span.end())) continue;
    if (own.covers(span.base(), span.end()) && own.has_pieces_of(span)) return area.get();
    throw Fault(
        WEFT_E_PARA,
        fmt::format("the {} bytes mapped at {:#x} are neither inside nor outside of the "
                    "memory of an earlier window, {} bytes at {:#x}: they overlap, or other "
                    "memory is mapped there now; deregister that window first",
                    span.bytes(), span.base(), own.bytes(), own.base()));
  }
  return nullptr;
}

/// One registration on this rank. Undoes itself unless it is committed.
class Attempt {
 public:
  explicit Attempt(Member& member) : member_(member) {}
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  /// Finds the memory and a place for it.
  Offer prepare(uint64_t address, uint64_t bytes);
  void map(const std::vector<Offer>& offers);
  void* commit(Window window);

 private:
  void place(Span span);
  Offer describe(uint64_t address) const;

  Member& member_;
  Area* area_ = nullptr;
  bool fresh_ = false;
  bool committed_ = false;
};

Attempt::~Attempt() {
  if (committed_) return;
  const std::lock_guard lock(member_.context.mutex);
  if (area_ != nullptr) leave_area(*area_);
  if (member_.areas.empty()) member_.heap.reset();
}

Offer Attempt::prepare(uint64_t address, uint64_t bytes) {
  if (member_.heap == nullptr) {
    auto heap = std::make_unique<Heap>(member_.group.ranks, slot_bytes(member_.group.window_bytes));
    const std::lock_guard lock(member_.context.mutex);
    member_.heap = std::move(heap);
  }
  place(Span(address, bytes));
  return describe(address);
}

void Attempt::place(Span span) {
  const std::lock_guard lock(member_.context.mutex);
  Area* known = find_area(member_, span);
  if (known == nullptr) {
    const uint64_t offset = find_space(member_, span);
    auto area = std::make_unique<Area>(member_, offset, std::move(span));
    known = member_.areas.emplace(offset, std::move(area)).first->second.get();
    fresh_ = true;
  }
  ++known->users;
  area_ = known;
}

Offer Attempt::describe(uint64_t address) const {
  const weft_group& group = member_.group;
  const bool alone = std::all_of(group.processes, group.processes + group.ranks,
                                 [&](uint64_t id) { return id == group.processes[group.rank]; });
  Offer offer;
  offer.head.fresh = fresh_ ? 1 : 0;
  offer.head.slot = member_.heap->slot();
  offer.head.offset = area_->offset;
  offer.head.bytes = area_->own.bytes();
  offer.head.start = address - area_->own.base();
  if (!fresh_) return offer;
  const weft_host& host = *member_.context.host;
  for (const Piece& piece : area_->own.pieces()) {
    const uint64_t shareable =
        alone ? 0 : member_.context.exports.share(host, piece.handle, piece.address);
    offer.pieces.push_back({piece.bytes, reinterpret_cast<uint64_t>(piece.handle), shareable});
  }
  return offer;
}

void Attempt::map(const std::vector<Offer>& offers) {
  if (!fresh_) return;
  const weft_group& group = member_.group;
  for (uint32_t rank = 0; rank < group.ranks; ++rank) {
    uint64_t at = member_.heap->address(rank, area_->offset);
    const bool near = group.processes[rank] == group.processes[group.rank];
    for (const OfferedPiece& piece : offers[rank].pieces) {
      const auto handle = reinterpret_cast<aclrtDrvMemHandle>(piece.handle);
      if (rank == group.rank) {
        area_->mappings.add(at, piece.bytes, handle);
      } else if (near) {
        area_->mappings.add_peer(at, piece.bytes, handle, group.device);
      } else {
        area_->mappings.add_import(at, piece.bytes, piece.shareable, group.device);
      }
      at += piece.bytes;
    }
    if (rank != group.rank) area_->show_peer(rank);
  }
}

void* Attempt::commit(Window window) {
  window.member = &member_;
  window.area = area_;
  const std::lock_guard lock(member_.context.mutex);
  void* handle = add_window(member_.context, std::move(window));
  try {
    if (fresh_) area_->show_own();
  } catch (...) {
    member_.context.windows.erase(handle);
    throw;
  }
  committed_ = true;
  return handle;
}

/// What all ranks offer, by rank. Collective.
std::vector<Offer> exchange(const weft_group& group, const Offer& mine) {
  struct Received {
    std::vector<std::string> bytes;
    bool whole = true;
  } received{std::vector<std::string>(group.ranks), true};
  const std::string bytes = encode(mine);
  const auto keep = [](void* arg, uint32_t rank, const void* part, uint64_t length) {
    auto& all = *static_cast<Received*>(arg);
    try {
      all.bytes.at(rank).assign(static_cast<const char*>(part), length);
    } catch (...) {  // the caller is C
      all.whole = false;
    }
  };
  demand(group.all_gather(group.self, bytes.data(), bytes.size(), keep, &received),
         "exchange what the ranks register");
  if (!received.whole) throw std::bad_alloc();
  std::vector<Offer> offers;
  for (const std::string& one : received.bytes) offers.push_back(decode(one));
  return offers;
}

/// One round: the rank's part, then everybody's result. Throws unless all are well: this rank's own
/// failure, or else that of the first rank that has one.
std::vector<Offer> run_round(const weft_group& group, Offer& mine,
                             const std::function<void()>& part) {
  const std::optional<Fault> fault = memory::fault_of(part);
  if (fault) {
    mine = {};
    mine.head.code = fault->code;
    mine.reason = fault->what();
  }
  std::vector<Offer> offers = exchange(group, mine);
  if (fault) throw Fault(*fault);
  for (uint32_t rank = 0; rank < group.ranks; ++rank) {
    if (offers[rank].head.code == WEFT_OK) continue;
    throw Fault(WEFT_E_INTERNAL,
                fmt::format("no rank registers the window, since rank {} cannot: {}", rank,
                            offers[rank].reason));
  }
  return offers;
}

/// A value that must be the same on all ranks.
struct Agreement {
  uint64_t OfferHead::*value;
  const char* what;
  const char* advice;
};
constexpr Agreement kAgreements[] = {
    {&OfferHead::slot, "bytes for windows",
     "configure the same hcclSymWinMaxMemSizePerRank on all ranks"},
    {&OfferHead::bytes, "bytes of physical memory to register", "map the same size on all ranks"},
    {&OfferHead::offset, "as the offset of the window in its heap",
     "register and deregister windows in the same order on all ranks"}};

/// All ranks come to the same conclusion.
void check_agreement(const std::vector<Offer>& offers) {
  const OfferHead& first = offers[0].head;
  for (uint32_t rank = 1; rank < offers.size(); ++rank) {
    const OfferHead& other = offers[rank].head;
    if (first.fresh != other.fresh) {
      throw Fault(
          WEFT_E_INTERNAL,
          fmt::format("rank {} registers memory that a window of it covers already, and rank "
                      "{} does not; register and deregister windows in the same order on "
                      "all ranks",
                      first.fresh == 0 ? 0 : rank, first.fresh == 0 ? rank : 0));
    }
    for (const Agreement& must : kAgreements) {
      if (first.*must.value == other.*must.value) continue;
      throw Fault(WEFT_E_INTERNAL,
                  fmt::format("rank 0 has {} {}, rank {} has {}; {}", first.*must.value, must.what,
                              rank, other.*must.value, must.advice));
    }
  }
}

void check_arguments(uint64_t bytes, uint32_t flag) {
  if (flag == 0) {
    throw Fault(WEFT_E_PARA, "flag 0 is not supported; pass 1, for symmetric memory");
  }
  if (flag != 1) throw Fault(WEFT_E_PARA, fmt::format("flag {} does not exist; pass 1", flag));
  if (bytes == 0) throw Fault(WEFT_E_PARA, "size is 0; a window has at least one byte");
}

}  // namespace

void* register_window(Member& member, uint64_t address, uint64_t bytes, uint32_t flag) {
  check_arguments(bytes, flag);
  const weft_group& group = member.group;
  Window window;
  window.address = address;
  window.bytes = bytes;
  if (group.ranks == 1) {
    window.member = &member;
    const std::lock_guard lock(member.context.mutex);
    return add_window(member.context, std::move(window));
  }
  const std::lock_guard lock(member.registering);
  Attempt attempt(member);
  Offer mine;
  const std::vector<Offer> offers =
      run_round(group, mine, [&] { mine = attempt.prepare(address, bytes); });
  check_agreement(offers);
  for (const Offer& offer : offers) window.starts.push_back(offer.head.start);
  Offer mapped;
  run_round(group, mapped, [&] { attempt.map(offers); });
  return attempt.commit(std::move(window));
}

}  // namespace weft::symwin
