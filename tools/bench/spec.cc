// SPDX-License-Identifier: Apache-2.0
#include "bench/spec.hpp"

#include <algorithm>

#include "base/names.hpp"

namespace weft::tools {
namespace {

// Equal ones; uneven blocks need not be whole.
uint64_t blocks(const Spec& spec) {
  switch (facts(spec.op).blocks) {
    case Blocks::kTwo:
      return 2;
    case Blocks::kRanks:
      return spec.ranks;
    default:
      return 1;
  }
}

Shape shape(const Spec& spec, uint64_t bytes) {
  const uint64_t block = blocks(spec) * element_size(spec);
  Shape shape;
  shape.count = std::max<uint64_t>(1, bytes / block);
  shape.bytes = shape.count * block;
  return shape;
}

}  // namespace

// A known type has a size; the guard keeps that out of every division.
size_t element_size(const Spec& spec) { return std::max<size_t>(1, type_size(spec.type)); }

std::vector<Shape> shapes(const Spec& spec) {
  if (facts(spec.op).blocks == Blocks::kNone) return {Shape{}};
  std::vector<Shape> all;
  const auto add = [&](uint64_t bytes) {
    const Shape next = shape(spec, bytes);
    if (all.empty() || all.back().count != next.count) all.push_back(next);
  };
  for (const uint64_t bytes : spec.sizes) add(bytes);
  if (!spec.sizes.empty()) return all;
  for (uint64_t bytes = spec.begin; bytes < spec.end; bytes *= spec.factor) add(bytes);
  add(spec.end);
  return all;
}

double bus_factor(const Spec& spec) {
  const double others = double(spec.ranks - 1) / double(spec.ranks);
  switch (facts(spec.op).bus) {
    case BusFactor::kOthers:
      return others;
    case BusFactor::kTwiceOthers:
      return 2 * others;
    default:
      return 1;
  }
}

double trips(const Spec& spec) { return spec.op == Op::kSendRecv && spec.ranks == 2 ? 2 : 1; }

}  // namespace weft::tools
