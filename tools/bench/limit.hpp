// SPDX-License-Identifier: Apache-2.0
// The hand-written loop of an operator: flags and the same kernels on the same memory, without
// HCCL, streams or plans. What a call takes longer than this is what the layers cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "bench/memory.hpp"
#include "bench/spec.hpp"
#include "bench/team.hpp"

namespace weft::tools {

class Limit {
 public:
  [[nodiscard]] static bool offers(Op op);

  static constexpr uint32_t kMostRanks = 64;

  /// Collective. Maps the buffers of all ranks, `bytes` each, which must come from aclrtMalloc and
  /// outlive it; null where a rank has none. Ends through `fail`, which must not return.
  Limit(const Spec& spec, Team& team, uint32_t rank, std::byte* send, std::byte* receive,
        uint64_t bytes, Fail fail);
  ~Limit();
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

  /// The calls that follow are of this shape. Collective, with a barrier.
  /// `send_at`, `receive_at`: bytes from the beginning of the buffers.
  void begin(const Shape& shape, uint64_t send_at, uint64_t receive_at);
  /// One call, collective.
  void call();

 private:
  struct Area;
  // Of each rank, as it is mapped here.
  struct Place {
    Area* area = nullptr;
    std::byte* send = nullptr;
    std::byte* receive = nullptr;
  };

  void need(const char* function, int code) const {
    if (code != 0) fail_(function, code);
  }
  void show(uint32_t index, std::byte* address, uint64_t bytes);
  std::byte* find(uint32_t peer, uint32_t index);

  void signal(uint32_t peer);
  void wait(uint32_t peer, uint64_t round);
  void signal_all();
  void wait_all();
  [[nodiscard]] std::byte* slot(uint32_t owner, uint32_t from) const;
  void push(uint32_t peer, const std::byte* data);
  [[nodiscard]] std::byte* send_of(uint32_t rank, uint64_t block) const;
  [[nodiscard]] std::byte* own_output(uint64_t block) const;
  void reduce(size_t destinations, uint64_t count);

  void reduce_slices();
  void reduce_blocks();
  void gather();
  void from_root();
  void exchange_short();
  void to_root_short();
  void from_root_short();

  const Spec& spec_;
  Team& team_;
  const uint32_t rank_;
  const Fail fail_;
  const bool yields_;
  const uint64_t element_;
  Area* area_ = nullptr;
  std::vector<Place> places_;        // by rank
  std::vector<std::string> keys_;    // of all that was shown and mapped
  std::vector<void*> destinations_;  // of a reduction
  std::vector<const void*> sources_;
  uint64_t round_ = 0;
  uint64_t since_ = 0;  // round before the first of this shape
  uint64_t count_ = 0;  // of the shape
  uint64_t block_ = 0;  // the same in bytes
  uint64_t send_at_ = 0;
  uint64_t receive_at_ = 0;
};

}  // namespace weft::tools
