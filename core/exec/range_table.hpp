// SPDX-License-Identifier: Apache-2.0
// Disjoint ranges of numbers, and what each becomes by adding a constant. Changed under a lock of
// the owner's; read at any time without one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace weft::exec {

class RangeTable {
 public:
  RangeTable() = default;
  RangeTable(const RangeTable&) = delete;
  RangeTable& operator=(const RangeTable&) = delete;

  /// [begin, begin + bytes) becomes [to, to + bytes). Neighbours that go on become one range.
  /// False, with nothing changed, if it is empty, wraps around or overlaps another.
  bool add(uint64_t begin, uint64_t bytes, uint64_t to);
  /// Takes out what add() put in, or a part of it.
  void remove(uint64_t begin, uint64_t bytes);

  /// Whether [begin, begin + bytes) lies in one range; then `shift` is what to add.
  bool find(uint64_t begin, uint64_t bytes, uint64_t* shift) const noexcept;
  /// Another one after every change; odd while one is under way.
  [[nodiscard]] uint64_t version() const noexcept {
    return version_.load(std::memory_order_seq_cst);
  }
  [[nodiscard]] bool empty() const noexcept { return count_.load(std::memory_order_relaxed) == 0; }

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
    uint64_t shift;
  };
  struct Slot {
    std::atomic<uint64_t> begin{0};
    std::atomic<uint64_t> end{0};
    std::atomic<uint64_t> shift{0};
  };

  void publish();
  bool look(uint64_t begin, uint64_t bytes, uint64_t* shift) const noexcept;

  std::vector<Range> ranges_;  // sorted; the writer's own
  // What readers see. They begin again if the version was odd or another one afterwards. Outgrown
  // arrays stay, since a reader may still be in one.
  std::atomic<uint64_t> version_{0};
  std::atomic<uint32_t> count_{0};
  std::atomic<Slot*> slots_{nullptr};
  uint32_t room_ = 0;
  std::vector<std::unique_ptr<Slot[]>> arrays_;
};

}  // namespace weft::exec
