// SPDX-License-Identifier: Apache-2.0
// C++20 sugar over the C headers, most of it for authors of algorithms. Header-only; nothing here
// is part of the binary contract.
//
//   static void all_reduce(const weft::Problem& p, weft::Schedule& s) { ... }
//   WEFT_ALGORITHM(all_reduce, .name = "all_reduce", .summary = "...", .op = WEFT_OP_ALL_REDUCE);
//   WEFT_PLUGIN("mine", "1.0.0", "what it is", WEFT_USE(all_reduce));
//
// A plugin of another kind fills in a table of its C header and names it with
// WEFT_TRANSPORT_PLUGIN or WEFT_MEMORY_PLUGIN.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "weft/algorithm.h"
#include "weft/memory.h"
#include "weft/transport.h"

namespace weft {

/// A piece of a rank's In, Out or Scratch: a value, free to copy. See algorithm.h for the geometry.
struct Chunk : weft_chunk {
  /// The same piece on another rank.
  [[nodiscard]] constexpr Chunk at(uint32_t other) const {
    Chunk c = *this;
    c.rank = other;
    return c;
  }
  /// Part `i` of `n` of this block (which must be whole).
  [[nodiscard]] constexpr Chunk part_of(uint32_t i, uint32_t n) const {
    Chunk c = *this;
    c.part = i;
    c.parts = n;
    return c;
  }
};

namespace detail {

/// `i` modulo n, in 0..n-1. A difference of unsigned numbers that went below zero counts as
/// negative, so that `r - k` may be written with the rank as it comes.
template <std::integral T>
[[nodiscard]] constexpr uint32_t wrap(T i, uint32_t n) {
  const auto modulus = static_cast<int64_t>(n);
  const auto rest = static_cast<int64_t>(static_cast<std::make_signed_t<T>>(i)) % modulus;
  return static_cast<uint32_t>(rest < 0 ? rest + modulus : rest);
}

/// Whether In is n blocks.
[[nodiscard]] constexpr bool has_in_blocks(uint32_t op) {
  return op == WEFT_OP_REDUCE_SCATTER || op == WEFT_OP_ALL_TO_ALL || op == WEFT_OP_SCATTER ||
         op == WEFT_OP_REDUCE_SCATTER_V || op == WEFT_OP_ALL_TO_ALL_V;
}
/// Whether Out is n blocks.
[[nodiscard]] constexpr bool has_out_blocks(uint32_t op) {
  return op == WEFT_OP_ALL_GATHER || op == WEFT_OP_ALL_TO_ALL || op == WEFT_OP_ALL_GATHER_V ||
         op == WEFT_OP_ALL_TO_ALL_V;
}

}  // namespace detail

/// The n pieces of In or Out, n = number of ranks: the blocks where there are n, else the n parts
/// of the one block. Indices wrap modulo n, negative ones too.
class Chunks {
 public:
  constexpr Chunks(uint32_t space, uint32_t rank, uint32_t pieces, bool split)
      : space_(space), rank_(rank), pieces_(pieces), split_(split) {}

  template <std::integral T>
  [[nodiscard]] constexpr Chunk operator[](T i) const {
    const uint32_t piece = detail::wrap(i, pieces_);
    if (split_) return {{space_, rank_, 0, piece, pieces_}};
    return {{space_, rank_, piece, 0, 1}};
  }
  /// The whole block; for spaces of one block.
  [[nodiscard]] constexpr Chunk all() const { return {{space_, rank_, 0, 0, 1}}; }
  [[nodiscard]] constexpr Chunks at(uint32_t other) const {
    return {space_, other, pieces_, split_};
  }
  [[nodiscard]] constexpr uint32_t size() const { return pieces_; }
  [[nodiscard]] constexpr bool is_split() const { return split_; }

 private:
  uint32_t space_;
  uint32_t rank_;
  uint32_t pieces_;
  bool split_;
};

/// The shape of a call, seen from one rank.
class Problem {
 public:
  explicit Problem(const weft_problem& raw) : raw_(&raw) {}

  [[nodiscard]] uint32_t rank() const { return raw_->rank; }
  [[nodiscard]] uint32_t ranks() const { return raw_->ranks; }
  [[nodiscard]] uint32_t root() const { return raw_->root; }
  /// Value of the i-th declared parameter: a number, 0 or 1, or the index of a choice.
  [[nodiscard]] int64_t param(uint32_t i) const { return raw_->params[i]; }

  /// The rank `distance` hops to the right (negative: left) on the ring 0..n-1.
  template <std::integral T>
  [[nodiscard]] uint32_t ring(T distance) const {
    return detail::wrap(static_cast<int64_t>(rank()) + detail::wrap(distance, ranks()), ranks());
  }
  /// All other ranks, starting with the right neighbour: so that not everybody visits rank 0 first.
  [[nodiscard]] std::vector<uint32_t> peers() const {
    std::vector<uint32_t> others;
    for (uint32_t k = 1; k < ranks(); ++k) others.push_back(ring(k));
    return others;
  }
  /// The same piece on every rank, in rank order: the operands of a sum in rank order.
  [[nodiscard]] std::vector<Chunk> everyone(Chunk piece) const {
    std::vector<Chunk> all;
    for (uint32_t q = 0; q < ranks(); ++q) all.push_back(piece.at(q));
    return all;
  }

  [[nodiscard]] Chunks in() const {
    return {WEFT_SPACE_IN, rank(), ranks(), !detail::has_in_blocks(raw_->op)};
  }
  [[nodiscard]] Chunks out() const {
    return {WEFT_SPACE_OUT, rank(), ranks(), !detail::has_out_blocks(raw_->op)};
  }
  /// Block `block` of this rank's Scratch; using it makes it exist.
  [[nodiscard]] Chunk scratch(uint32_t block) const {
    return {{WEFT_SPACE_SCRATCH, rank(), block, 0, 1}};
  }

 private:
  const weft_problem* raw_;
};

/// Writes steps in program order. A refused step ends the schedule: later ones are ignored and the
/// code is kept.
class Schedule {
 public:
  explicit Schedule(const weft_builder& builder) : builder_(&builder) {}

  void copy(Chunk dst, Chunk src) { copy(std::span<const Chunk>(&dst, 1), src); }
  void copy(std::span<const Chunk> dsts, Chunk src) {
    append(WEFT_VERB_COPY, 0, dsts, std::span<const Chunk>(&src, 1));
  }
  /// All n pieces.
  void copy(const Chunks& dst, const Chunks& src) {
    if (dst.is_split() && src.is_split()) return copy(dst.all(), src.all());
    for (uint32_t i = 0; i < dst.size(); ++i) copy(dst[i], src[i]);
  }
  /// dst = dst op src.
  void reduce(Chunk dst, Chunk src) { reduce({dst}, {dst, src}); }
  /// Every dst = srcs[0] op srcs[1] op ..., in one pass over memory.
  void reduce(std::span<const Chunk> dsts, std::span<const Chunk> srcs) {
    append(WEFT_VERB_REDUCE, 0, dsts, srcs);
  }
  void reduce(Chunk dst, std::span<const Chunk> srcs) {
    reduce(std::span<const Chunk>(&dst, 1), srcs);
  }
  void reduce(std::initializer_list<Chunk> dsts, std::initializer_list<Chunk> srcs) {
    reduce(std::span(dsts.begin(), dsts.size()), std::span(srcs.begin(), srcs.size()));
  }
  /// Tells `peer` that all my steps so far are done. Never blocks.
  void signal(uint32_t peer) { append(WEFT_VERB_SIGNAL, peer, {}, {}); }
  void signal(std::span<const uint32_t> peers) {
    for (const uint32_t peer : peers) signal(peer);
  }
  /// Takes the next signal of `peer`.
  void wait(uint32_t peer) { append(WEFT_VERB_WAIT, peer, {}, {}); }
  void wait(std::span<const uint32_t> peers) {
    for (const uint32_t peer : peers) wait(peer);
  }

  /// Says that some rank names Scratch up to block `blocks` - 1; for the ranks that name fewer.
  void reserve(uint32_t blocks) {
    if (status_ != WEFT_OK) return;
    status_ = WEFT_HAS(builder_, weft_builder, reserve) ? builder_->reserve(builder_->self, blocks)
                                                        : WEFT_E_NOT_SUPPORT;
  }

  [[nodiscard]] int32_t status() const { return status_; }

 private:
  void append(uint32_t verb, uint32_t peer, std::span<const Chunk> dsts,
              std::span<const Chunk> srcs) {
    if (status_ != WEFT_OK) return;
    const weft_step step{WEFT_HEAD(weft_step),
                         verb,
                         peer,
                         static_cast<uint32_t>(dsts.size()),
                         static_cast<uint32_t>(srcs.size()),
                         sizeof(weft_chunk),
                         0,
                         dsts.data(),
                         srcs.data()};
    status_ = builder_->append(builder_->self, &step);
  }

  const weft_builder* builder_;
  int32_t status_ = WEFT_OK;
};
static_assert(sizeof(Chunk) == sizeof(weft_chunk),
              "spans of Chunk are passed as arrays of weft_chunk");

/// The declared parameters of an algorithm; made from a static array of weft_param.
struct Params {
  constexpr Params() = default;
  template <uint32_t N>
  constexpr Params(const weft_param (&array)[N]) : data(array), count(N) {}  // implicit by design
  const weft_param* data = nullptr;
  uint32_t count = 0;
};

/// A whole number from `min` to `max`.
constexpr weft_param param(const char* name, const char* help, int64_t def, int64_t min,
                           int64_t max) {
  return {WEFT_HEAD(weft_param), name, help, def, min, max, WEFT_PARAM_INTEGER, 0, nullptr};
}
/// True or false.
constexpr weft_param flag(const char* name, const char* help, bool def) {
  return {WEFT_HEAD(weft_param), name, help, def ? 1 : 0, 0, 1, WEFT_PARAM_BOOLEAN, 0, nullptr};
}
/// One of `names`, a static array; `def` is an index in it.
template <uint32_t N>
constexpr weft_param choice(const char* name, const char* help, uint32_t def,
                            const char* const (&names)[N]) {
  return {WEFT_HEAD(weft_param), name, help, def, 0, N - 1, WEFT_PARAM_CHOICE, 0, names};
}

/// What WEFT_ALGORITHM declares beside the function.
struct Declaration {
  const char* name;
  const char* summary;
  uint32_t op;
  uint32_t flags = 0;
  uint32_t min_ranks = 2;
  uint32_t max_ranks = 0;
  Params params = {};
  const char* hccl_algo = nullptr;
};

namespace detail {

template <void (*Fn)(const Problem&, Schedule&)>
int32_t emit(const weft_problem* problem, const weft_builder* builder) noexcept {
  if (problem == nullptr || builder == nullptr) return WEFT_E_PTR;
  if (builder->head.major != WEFT_ABI_MAJOR || !WEFT_HAS(builder, weft_builder, append) ||
      problem->head.major != WEFT_ABI_MAJOR || !WEFT_HAS(problem, weft_problem, params)) {
    return WEFT_E_NOT_SUPPORT;
  }
  try {
    Schedule schedule(*builder);
    Fn(Problem(*problem), schedule);
    return schedule.status();
  } catch (const std::bad_alloc&) {
    return WEFT_E_MEMORY;
  } catch (...) {
    return WEFT_E_INTERNAL;
  }
}

template <void (*Fn)(const Problem&, Schedule&)>
constexpr weft_algorithm declare(const Declaration& d) {
  return {WEFT_HEAD(weft_algorithm),
          d.name,
          d.summary,
          d.op,
          d.flags,
          d.min_ranks,
          d.max_ranks,
          d.params.count,
          sizeof(weft_param),
          d.params.data,
          &emit<Fn>,
          d.hccl_algo};
}

}  // namespace detail
}  // namespace weft

/// Declares `function` as an algorithm; the rest are members of weft::Declaration, in their order.
#define WEFT_ALGORITHM(function, ...)                        \
  extern const weft_algorithm weft_algorithm_##function;     \
  constinit const weft_algorithm weft_algorithm_##function = \
      ::weft::detail::declare<&function>({__VA_ARGS__})

/// Names an algorithm of another file of the same plugin.
#define WEFT_EXTERN_ALGORITHM(function) extern const weft_algorithm weft_algorithm_##function

/// An algorithm in the list of WEFT_PLUGIN.
#define WEFT_USE(function) &weft_algorithm_##function

#define WEFT_DETAIL_RETURN_DESCRIPTOR(plugin_kind, plugin_name, plugin_version, plugin_summary, \
                                      plugin_table)                                             \
  static constinit const weft_plugin_desc desc = {WEFT_HEAD(weft_plugin_desc),                  \
                                                  WEFT_PLUGIN_MAGIC,                            \
                                                  plugin_kind,                                  \
                                                  plugin_name,                                  \
                                                  plugin_version,                               \
                                                  plugin_summary,                               \
                                                  &(plugin_table)};                             \
  return &desc

/// The one exported symbol (P1): name, version and summary of the plugin, then its algorithms.
#define WEFT_PLUGIN(plugin_name, plugin_version, plugin_summary, ...)                            \
  extern "C" WEFT_EXPORT const weft_plugin_desc* weft_plugin(void) {                             \
    static constinit const weft_algorithm* const items[] = {__VA_ARGS__};                        \
    static constinit const weft_algorithms table = {WEFT_HEAD(weft_algorithms),                  \
                                                    sizeof(items) / sizeof(items[0]), 0, items}; \
    WEFT_DETAIL_RETURN_DESCRIPTOR(WEFT_KIND_ALGORITHMS, plugin_name, plugin_version,             \
                                  plugin_summary, table);                                        \
  }                                                                                              \
  static_assert(true, "take a semicolon")

/// The same for a transport, whose table is a constant weft_transport.
#define WEFT_TRANSPORT_PLUGIN(plugin_name, plugin_version, plugin_summary, transport) \
  extern "C" WEFT_EXPORT const weft_plugin_desc* weft_plugin(void) {                  \
    static_assert(std::is_same_v<decltype(transport), const weft_transport>);         \
    WEFT_DETAIL_RETURN_DESCRIPTOR(WEFT_KIND_TRANSPORT, plugin_name, plugin_version,   \
                                  plugin_summary, transport);                         \
  }                                                                                   \
  static_assert(true, "take a semicolon")

/// The same for a memory plugin, whose table is a constant weft_memory.
#define WEFT_MEMORY_PLUGIN(plugin_name, plugin_version, plugin_summary, memory)                  \
  extern "C" WEFT_EXPORT const weft_plugin_desc* weft_plugin(void) {                             \
    static_assert(std::is_same_v<decltype(memory), const weft_memory>);                          \
    WEFT_DETAIL_RETURN_DESCRIPTOR(WEFT_KIND_MEMORY, plugin_name, plugin_version, plugin_summary, \
                                  memory);                                                       \
  }                                                                                              \
  static_assert(true, "take a semicolon")
