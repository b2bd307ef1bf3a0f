// SPDX-License-Identifier: Apache-2.0
#include "data.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weft::peers {
namespace {

constexpr uint64_t kPeriod = 8191;
constexpr size_t kHuge = size_t{2} << 20;
constexpr uint64_t kValues = 61;  // numbers are smaller

// Mixes all bits of a number (the finaliser of MurmurHash3).
uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 33)) * 0xff51afd7ed558ccdu;
  value = (value ^ (value >> 33)) * 0xc4ceb9fe1a85ec53u;
  return value ^ (value >> 33);
}

bool has_blocks(Op op) {
  return op == Op::kReduceScatter || op == Op::kAllGather || op == Op::kAllToAll ||
         op == Op::kScatter;
}

}  // namespace

Buffer::Buffer(uint64_t elements) : bytes_(std::max<size_t>(1, elements * sizeof(float))) {
  if (bytes_ >= kHuge) bytes_ = (bytes_ + kHuge - 1) / kHuge * kHuge;
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    std::exit(1);
  }
  if (bytes_ >= kHuge) madvise(memory, bytes_, MADV_HUGEPAGE);
  std::memset(memory, 0, bytes_);
  data_ = static_cast<float*>(memory);
}

Buffer::~Buffer() { munmap(data_, bytes_); }

Numbers::Numbers(uint32_t ranks) : tables_(ranks + 1, std::vector<float>(kPeriod)) {
  for (uint64_t i = 0; i < kPeriod; ++i) {
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      tables_[rank][i] = float(mix(i * Team::kMostRanks + rank + 1) % kValues);
      tables_[ranks][i] += tables_[rank][i];
    }
  }
}

void Numbers::write(float* to, uint32_t source, uint64_t first, uint64_t count) const {
  while (count > 0) {
    const uint64_t phase = first % kPeriod;
    const uint64_t run = std::min(count, kPeriod - phase);
    std::memcpy(to, &tables_[source][phase], run * sizeof(float));
    to += run;
    first += run;
    count -= run;
  }
}

uint64_t Numbers::wrong(const float* data, uint32_t source, uint64_t first, uint64_t count) const {
  uint64_t wrong = 0;
  for (uint64_t run; count > 0; data += run, first += run, count -= run) {
    const uint64_t phase = first % kPeriod;
    run = std::min(count, kPeriod - phase);
    const float* good = &tables_[source][phase];
    if (std::memcmp(data, good, run * sizeof(float)) == 0) continue;
    for (uint64_t i = 0; i < run; ++i) wrong += data[i] == good[i] ? 0 : 1;
  }
  return wrong;
}

Shape make_shape(Op op, uint32_t rank, uint32_t ranks, uint64_t bytes) {
  const uint64_t blocks = has_blocks(op) ? ranks : 1;
  Shape shape;
  shape.count = std::max<uint64_t>(1, bytes / (blocks * sizeof(float)));
  const uint64_t whole = shape.count * blocks;
  shape.bytes = whole * sizeof(float);
  shape.send = op == Op::kAllGather ? shape.count : whole;
  if (op == Op::kScatter && rank != 0) shape.send = 0;
  shape.receive = op == Op::kReduceScatter || op == Op::kScatter ? shape.count : whole;
  return shape;
}

uint64_t wrong_elements(const Numbers& numbers, const Job& job, const float* received) {
  const uint64_t count = job.count;
  const uint64_t own = job.rank * count;
  uint64_t wrong = 0;
  switch (job.op) {
    case Op::kAllReduce:
      return numbers.wrong(received, numbers.sum(), 0, count);
    case Op::kReduce:
      return job.rank == 0 ? numbers.wrong(received, numbers.sum(), 0, count) : 0;
    case Op::kReduceScatter:
      return numbers.wrong(received, numbers.sum(), own, count);
    case Op::kBroadcast:
      return numbers.wrong(received, 0, 0, count);
    case Op::kScatter:
      return numbers.wrong(received, 0, own, count);
    case Op::kAllGather:
      for (uint32_t i = 0; i < job.ranks; ++i) {
        wrong += numbers.wrong(received + i * count, i, 0, count);
      }
      return wrong;
    case Op::kAllToAll:
      for (uint32_t i = 0; i < job.ranks; ++i) {
        wrong += numbers.wrong(received + i * count, i, own, count);
      }
      return wrong;
  }
  return wrong;
}

}  // namespace weft::peers
