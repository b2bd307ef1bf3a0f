// SPDX-License-Identifier: Apache-2.0
#include "bench/spec.hpp"

#include <algorithm>

#include "base/names.hpp"

namespace weft::tools {
namespace {

bool has_blocks(uint32_t op) {
  return op == WEFT_OP_ALL_GATHER || op == WEFT_OP_REDUCE_SCATTER || op == WEFT_OP_ALL_TO_ALL;
}

Shape shape(const Spec& spec, uint64_t bytes) {
  const uint64_t blocks = has_blocks(spec.op) ? spec.ranks : 1;
  const uint64_t size = element_size(spec);
  Shape shape;
  shape.count = std::max<uint64_t>(1, bytes / (blocks * size));
  shape.bytes = shape.count * blocks * size;
  const uint64_t all = shape.count * blocks;
  shape.send_elements = spec.op == WEFT_OP_ALL_GATHER ? shape.count : all;
  shape.receive_elements = spec.op == WEFT_OP_REDUCE_SCATTER ? shape.count : all;
  return shape;
}

}  // namespace

// A known type has a size; the guard keeps that out of every division.
size_t element_size(const Spec& spec) { return std::max<size_t>(1, type_size(spec.type)); }

std::vector<Shape> shapes(const Spec& spec) {
  if (spec.op == WEFT_OP_BARRIER) return {Shape{}};
  std::vector<Shape> all;
  const auto add = [&](uint64_t bytes) {
    const Shape next = shape(spec, bytes);
    if (all.empty() || all.back().count != next.count) all.push_back(next);
  };
  for (uint64_t bytes = spec.begin; bytes < spec.end; bytes *= spec.factor) add(bytes);
  add(spec.end);
  return all;
}

double bus_factor(const Spec& spec) {
  const double n = spec.ranks;
  switch (spec.op) {
    case WEFT_OP_ALL_REDUCE:
      return 2 * (n - 1) / n;
    case WEFT_OP_BROADCAST:
      return 1;
    default:
      return (n - 1) / n;
  }
}

}  // namespace weft::tools
