// SPDX-License-Identifier: Apache-2.0
// The core's side of weft_builder: every step is checked before it is kept, so that whoever reads a
// Schedule may index with its fields.
#include "schedule/builder.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "base/op_names.hpp"
#include "schedule/dump.hpp"

namespace weft::schedule {
namespace {

constexpr size_t kMaxSteps = size_t{1} << 20;
constexpr uint32_t kMaxParts = 1u << 16;

bool equal(const weft_chunk& a, const weft_chunk& b) {
  return a.space == b.space && a.rank == b.rank && a.block == b.block && a.part == b.part &&
         a.parts == b.parts;
}

bool before(const weft_chunk& a, const weft_chunk& b) {
  return std::tie(a.space, a.rank, a.block, a.part, a.parts) <
         std::tie(b.space, b.rank, b.block, b.part, b.parts);
}

/// A chunk that is there more than once; null if none is.
const weft_chunk* find_twice(std::span<const weft_chunk> chunks) {
  std::vector<weft_chunk> sorted(chunks.begin(), chunks.end());
  std::sort(sorted.begin(), sorted.end(), before);
  const auto twin = std::adjacent_find(sorted.begin(), sorted.end(), equal);
  if (twin == sorted.end()) return nullptr;
  return &*std::find_if(chunks.begin(), chunks.end(),
                        [&](const weft_chunk& c) { return equal(c, *twin); });
}

/// Keeps what an algorithm writes. The checks answer with the reason to refuse, empty if none.
class Recorder {
 public:
  explicit Recorder(const Shape& shape) { schedule_.shape = shape; }

  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  [[nodiscard]] int32_t status() const { return status_; }
  [[nodiscard]] Schedule take() { return std::move(schedule_); }

  /// weft_builder.append.
  static int32_t append(void* self, const weft_step* step) noexcept {
    if (self == nullptr) return WEFT_E_PTR;
    auto& recorder = *static_cast<Recorder*>(self);
    if (recorder.status_ != WEFT_OK) return recorder.status_;  // the first reason counts
    try {
      recorder.refusal_ = recorder.add(step);
      if (!recorder.refusal_.empty()) recorder.status_ = WEFT_E_PARA;
    } catch (const std::bad_alloc&) {
      recorder.status_ = WEFT_E_MEMORY;
    } catch (...) {
      recorder.status_ = WEFT_E_INTERNAL;
    }
    return recorder.status_;
  }

  /// weft_builder.reserve.
  static int32_t reserve(void* self, uint32_t blocks) noexcept {
    if (self == nullptr) return WEFT_E_PTR;
    auto& recorder = *static_cast<Recorder*>(self);
    if (recorder.status_ != WEFT_OK) return recorder.status_;
    try {
      recorder.refusal_ = recorder.raise_scratch(blocks);
      if (!recorder.refusal_.empty()) recorder.status_ = WEFT_E_PARA;
    } catch (const std::bad_alloc&) {
      recorder.status_ = WEFT_E_MEMORY;
    }
    return recorder.status_;
  }

 private:
  std::string raise_scratch(uint32_t blocks) {
    const Shape& shape = schedule_.shape;
    if (shape.op == WEFT_OP_ALL_TO_ALL_V && blocks > 0) return "all_to_all_v has no Scratch";
    const uint64_t most = max_operands(shape.ranks);
    if (blocks > most) {
      return "reserves " + std::to_string(blocks) + " blocks of Scratch; at most " +
             std::to_string(most);
    }
    schedule_.scratch_blocks = std::max(schedule_.scratch_blocks, blocks);
    return {};
  }

  std::string add(const weft_step* step) {
    if (step == nullptr) return "no step given";
    if (std::string why = check_head(*step); !why.empty()) return why;
    if (schedule_.steps.size() == kMaxSteps) return "more than 2^20 steps";
    const Step kept{step->verb, step->peer, static_cast<uint32_t>(schedule_.operands.size()),
                    step->dst_count, step->src_count};
    if (std::string why = check_counts(kept); !why.empty()) return why;
    if (std::string why = read(*step); !why.empty()) return why;
    if (std::string why = check_operands(kept); !why.empty()) {
      return dump_step(schedule_, kept, 4) + ": " + why;
    }
    note(kept);
    schedule_.steps.push_back(kept);
    return {};
  }

  static std::string check_head(const weft_step& step) {
    if (step.head.major != WEFT_ABI_MAJOR) {
      return "it is of ABI major " + std::to_string(step.head.major) + ", the core's is " +
             std::to_string(WEFT_ABI_MAJOR);
    }
    if (!WEFT_HAS(&step, weft_step, srcs)) {
      return "its head says " + std::to_string(step.head.size) + " bytes, too short for a step";
    }
    return {};
  }

  /// Verb, peer and numbers of operands.
  [[nodiscard]] std::string check_counts(const Step& step) const {
    const Shape& shape = schedule_.shape;
    switch (step.verb) {
      case WEFT_VERB_SIGNAL:
      case WEFT_VERB_WAIT:
        if (step.dst_count != 0 || step.src_count != 0) return "a signal or wait has no operands";
        if (step.peer >= shape.ranks) return "no rank " + std::to_string(step.peer) + " to talk to";
        if (step.peer == shape.rank) return "a rank cannot signal itself or wait for itself";
        return {};
      case WEFT_VERB_REDUCE:
        if (!is_reduction(shape.op))
          return std::string(operation_name(shape.op)) + " has nothing to reduce with";
        if (step.src_count == 0) return "a reduce needs a source";
        break;
      case WEFT_VERB_COPY:
        if (step.src_count != 1) return "a copy has exactly one source";
        break;
      default:
        return "unknown verb " + std::to_string(step.verb);
    }
    if (step.dst_count == 0) return "no destination";
    if (step.peer != 0) return "copy and reduce have no peer: ranks are named by their chunks";
    const uint64_t most = max_operands(shape.ranks);
    if (step.dst_count > most || step.src_count > most) {
      return "more than " + std::to_string(most) + " destinations or sources";
    }
    return {};
  }

  /// Copies the operands of a step whose counts are right.
  std::string read(const weft_step& step) {
    const uint64_t count = uint64_t{step.dst_count} + step.src_count;
    if (count == 0) return {};
    if (step.dsts == nullptr || step.srcs == nullptr) return "operands counted but not given";
    if (step.stride < sizeof(weft_chunk)) {
      return "its stride is " + std::to_string(step.stride) + ", a chunk has " +
             std::to_string(sizeof(weft_chunk)) + " bytes";
    }
    if (schedule_.operands.size() + count > UINT32_MAX) return "too many operands in all";
    append_operands(step.dsts, step.dst_count, step.stride);
    append_operands(step.srcs, step.src_count, step.stride);
    return {};
  }

  void append_operands(const weft_chunk* chunks, uint32_t count, size_t stride) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(chunks);
    for (uint32_t i = 0; i < count; ++i) {
      weft_chunk chunk;
      std::memcpy(&chunk, bytes + i * stride, sizeof(chunk));
      schedule_.operands.push_back(chunk);
    }
  }

  [[nodiscard]] std::string check_operands(const Step& step) const {
    const std::span<const weft_chunk> dsts = schedule_.dsts(step);
    const std::span all(dsts.data(), step.dst_count + step.src_count);  // sources follow
    for (const weft_chunk& chunk : all) {
      if (std::string why = check_chunk(chunk); !why.empty()) return why;
      if (chunk.part != all[0].part || chunk.parts != all[0].parts) {
        return "all chunks of a step must be the same part of their blocks";
      }
    }
    if (has_lengths(schedule_.shape.op) && !all.empty()) {
      if (std::string why = check_lengths(all); !why.empty()) return why;
    }
    if (const weft_chunk* twice = find_twice(dsts)) {
      return dump_chunk(schedule_.shape, *twice) + " is twice a destination";
    }
    return {};
  }

  /// Where blocks have lengths of their own, all chunks of a step must have the same.
  [[nodiscard]] std::string check_lengths(std::span<const weft_chunk> chunks) const {
    const Shape& shape = schedule_.shape;
    const weft_chunk* first = nullptr;
    const auto name = [&](const weft_chunk& chunk) { return dump_chunk(shape, chunk); };
    for (const weft_chunk& chunk : chunks) {
      if (chunk.parts != 1) {
        return name(chunk) + ": blocks are not cut here, their lengths are unknown";
      }
      if (chunk.space == WEFT_SPACE_SCRATCH) continue;
      if (first == nullptr) first = &chunk;
      if (length_class(shape, chunk) != length_class(shape, *first)) {
        return name(chunk) + " is not as long as " + name(*first);
      }
    }
    return first == nullptr ? "Scratch alone has no length: name a chunk of In or Out too" : "";
  }

  /// What a rank cannot name because nobody has it, or because it cannot know where it is.
  [[nodiscard]] std::string check_place(const weft_chunk& chunk) const {
    const Shape& shape = schedule_.shape;
    if (shape.op == WEFT_OP_SCATTER && chunk.space == WEFT_SPACE_IN && chunk.rank != shape.root) {
      return "only the root has an input";
    }
    if (chunk.space == WEFT_SPACE_OUT && !has_output(shape, chunk.rank)) {
      return "only the root has an output";
    }
    if (shape.op != WEFT_OP_ALL_TO_ALL_V) return {};
    if (chunk.space == WEFT_SPACE_SCRATCH) return "all_to_all_v has no Scratch";
    if (chunk.rank != shape.rank && chunk.block != shape.rank) {
      return "of a peer, only block " + std::to_string(shape.rank) + ", its own, can be named";
    }
    return {};
  }

  [[nodiscard]] std::string check_chunk(const weft_chunk& chunk) const {
    const Shape& shape = schedule_.shape;
    uint64_t blocks = max_operands(shape.ranks);
    if (chunk.space >= WEFT_SPACE_COUNT) return "unknown space " + std::to_string(chunk.space);
    if (chunk.space == WEFT_SPACE_IN) blocks = in_blocks(shape.op, shape.ranks);
    if (chunk.space == WEFT_SPACE_OUT) blocks = out_blocks(shape.op, shape.ranks);
    std::string why = check_numbers(chunk, blocks);
    return why.empty() ? why : dump_chunk(shape, chunk) + ": " + why;
  }

  [[nodiscard]] std::string check_numbers(const weft_chunk& chunk, uint64_t blocks) const {
    const Shape& shape = schedule_.shape;
    if (chunk.rank >= shape.ranks) return "no rank " + std::to_string(chunk.rank);
    if (chunk.block >= blocks) return "only " + std::to_string(blocks) + " blocks";
    if (std::string why = check_place(chunk); !why.empty()) return why;
    if (chunk.parts == 0 || chunk.parts > kMaxParts) return "1 to 65536 parts";
    if (chunk.part >= chunk.parts) return "parts are counted from 0";
    if (chunk.parts != 1 && parts_ != 0 && chunk.parts != parts_) {
      return "this schedule also cuts blocks into " + std::to_string(parts_) +
             " parts; such cuts do not nest, since parts are rounded up: use one number of parts";
    }
    return {};
  }

  /// Remembers what an accepted step means for the whole schedule.
  void note(const Step& step) {
    for (size_t i = step.first; i < schedule_.operands.size(); ++i) {
      const weft_chunk& chunk = schedule_.operands[i];
      if (chunk.parts != 1) parts_ = chunk.parts;
      if (chunk.space == WEFT_SPACE_SCRATCH) {
        schedule_.scratch_blocks = std::max(schedule_.scratch_blocks, chunk.block + 1);
      }
    }
  }

  Schedule schedule_;
  uint32_t parts_ = 0;  // the number of parts that blocks are cut into; 0 if none is cut yet
  std::string refusal_;
  int32_t status_ = WEFT_OK;
};

std::string context(const char* name, const Shape& shape) {
  std::string text = "algorithm " + std::string(name) + ", " +
                     std::string(operation_name(shape.op)) + " on " + std::to_string(shape.ranks) +
                     " ranks, rank " + std::to_string(shape.rank);
  if (has_root(shape.op)) text += ", root " + std::to_string(shape.root);
  return text + ": ";
}

/// Why this question must not be put to the algorithm; empty if it may.
std::string check_question(const weft_algorithm& algorithm, const Shape& shape,
                           std::span<const int64_t> params) {
  if (algorithm.emit == nullptr) return "it has no emit function";
  if (algorithm.op != shape.op) return "it is for " + std::string(operation_name(algorithm.op));
  if (shape.rank >= shape.ranks || shape.root >= shape.ranks) return "no such rank or root";
  if (shape.ranks < algorithm.min_ranks ||
      (algorithm.max_ranks != 0 && shape.ranks > algorithm.max_ranks)) {
    return "it is for " + std::to_string(algorithm.min_ranks) + ".." +
           (algorithm.max_ranks == 0 ? "" : std::to_string(algorithm.max_ranks)) + " ranks";
  }
  if (params.size() != algorithm.param_count) {
    return "it has " + std::to_string(algorithm.param_count) + " parameters, " +
           std::to_string(params.size()) + " values are given";
  }
  return {};
}

/// The call into the plugin: what it throws, against the rules, ends here (P8).
int32_t call_emit(const weft_algorithm& algorithm, const weft_problem& problem,
                  const weft_builder& builder, const std::string& where) {
  try {
    return algorithm.emit(&problem, &builder);
  } catch (const std::exception& e) {
    throw Error(HCCL_E_INTERNAL, where + "emit threw an exception: " + e.what());
  } catch (...) {
    throw Error(HCCL_E_INTERNAL, where + "emit threw something that is no exception");
  }
}

}  // namespace

Schedule emit(const weft_algorithm& algorithm, const char* name, const Shape& shape,
              std::span<const int64_t> params) {
  if (const std::string why = check_question(algorithm, shape, params); !why.empty()) {
    throw Error(HCCL_E_INTERNAL, context(name, shape) + why);
  }
  const weft_problem problem{WEFT_HEAD(weft_problem),
                             shape.op,
                             shape.ranks,
                             shape.rank,
                             shape.root,
                             static_cast<uint32_t>(params.size()),
                             0,
                             params.data()};
  Recorder recorder(shape);
  const weft_builder builder{WEFT_HEAD(weft_builder), &recorder, &Recorder::append,
                             &Recorder::reserve};
  const int32_t code = call_emit(algorithm, problem, builder, context(name, shape));
  if (!recorder.refusal().empty()) {
    Schedule good = recorder.take();
    throw Error(HCCL_E_INTERNAL, context(name, shape) + "step " +
                                     std::to_string(good.steps.size()) +
                                     " is refused: " + recorder.refusal());
  }
  const int32_t status = code != WEFT_OK ? code : recorder.status();
  if (status != WEFT_OK) {
    throw Error(static_cast<HcclResult>(status),
                context(name, shape) + "emit failed with code " + std::to_string(status));
  }
  return recorder.take();
}

}  // namespace weft::schedule
