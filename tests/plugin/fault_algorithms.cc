// SPDX-License-Identifier: Apache-2.0
// A plugin without any help of the SDK's sugar. As it stands it is good; each macro makes one thing
// of it wrong.
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

#include "weft/algorithm.h"

#ifndef FAULT_SYMBOL
#define FAULT_SYMBOL weft_plugin
#endif
#ifndef FAULT_RESULT
#define FAULT_RESULT &desc.known
#endif
#ifndef FAULT_MAGIC
#define FAULT_MAGIC WEFT_PLUGIN_MAGIC
#endif
#ifndef FAULT_KIND
#define FAULT_KIND WEFT_KIND_ALGORITHMS
#endif
#ifndef FAULT_DESC_SIZE
#define FAULT_DESC_SIZE sizeof(desc)
#endif
#ifndef FAULT_DESC_MAJOR
#define FAULT_DESC_MAJOR WEFT_ABI_MAJOR
#endif
#ifndef FAULT_NAME
#define FAULT_NAME "fault"
#endif
#ifndef FAULT_TABLE
#define FAULT_TABLE &table
#endif
#ifndef FAULT_TABLE_MAJOR
#define FAULT_TABLE_MAJOR WEFT_ABI_MAJOR
#endif
#ifndef FAULT_COUNT
#define FAULT_COUNT 2
#endif
#ifndef FAULT_SECOND
#define FAULT_SECOND &second
#endif
#ifndef FAULT_ALGORITHM_SIZE
#define FAULT_ALGORITHM_SIZE sizeof(first)
#endif
#ifndef FAULT_ALGORITHM_MAJOR
#define FAULT_ALGORITHM_MAJOR WEFT_ABI_MAJOR
#endif
#ifndef FAULT_ALGORITHM_NAME
#define FAULT_ALGORITHM_NAME "one"
#endif
#ifndef FAULT_OP
#define FAULT_OP WEFT_OP_ALL_REDUCE
#endif
#ifndef FAULT_MIN_RANKS
#define FAULT_MIN_RANKS 2
#endif
#ifndef FAULT_MAX_RANKS
#define FAULT_MAX_RANKS 0
#endif
#ifndef FAULT_PARAM_STRIDE
#define FAULT_PARAM_STRIDE sizeof(weft_param)
#endif
#ifndef FAULT_PARAM_NAME
#define FAULT_PARAM_NAME "depth"
#endif
#ifndef FAULT_PARAM_DEFAULT
#define FAULT_PARAM_DEFAULT 2
#endif
#ifndef FAULT_PARAM_TYPE
#define FAULT_PARAM_TYPE WEFT_PARAM_CHOICE
#endif
#ifndef FAULT_CHOICE_MIN
#define FAULT_CHOICE_MIN 0
#endif
#ifndef FAULT_CHOICE_MAX
#define FAULT_CHOICE_MAX 1
#endif
#ifndef FAULT_CHOICES
#define FAULT_CHOICES choices
#endif
#ifndef FAULT_CHOICE
#define FAULT_CHOICE "right"
#endif
#ifndef FAULT_EMIT
#define FAULT_EMIT &emit
#endif
#ifndef FAULT_HCCL_ALGO
#define FAULT_HCCL_ALGO "NHR"
#endif

// A later minor: every struct has a field that nobody here has heard of.
#ifdef FAULT_NEWER_MINOR
#define FAULT_MINOR 7
#define FAULT_MORE const char* appended = "from the future";
#else
#define FAULT_MINOR WEFT_ABI_MINOR
#define FAULT_MORE
#endif

extern "C" int32_t defined_nowhere(const weft_problem* problem, const weft_builder* builder);

namespace {

struct Descriptor {
  weft_plugin_desc known;
  FAULT_MORE
};
struct Table {
  weft_algorithms known;
  FAULT_MORE
};
struct Algorithm {
  weft_algorithm known;
  FAULT_MORE
};
struct Parameter {
  weft_param known;
  FAULT_MORE
};

[[maybe_unused]] int32_t emit(const weft_problem* problem, const weft_builder* builder) {
  return problem != nullptr && builder != nullptr ? WEFT_OK : WEFT_E_PTR;
}

constexpr weft_head head(std::size_t size, unsigned int major) {
  return {static_cast<uint32_t>(size), static_cast<uint16_t>(major), FAULT_MINOR};
}

#ifdef FAULT_NEWER_MINOR
constexpr uint32_t kStride = sizeof(Parameter);
constexpr uint32_t kSecondOp = WEFT_OP_COUNT;  // an operation of the future
#else
constexpr uint32_t kStride = FAULT_PARAM_STRIDE;
constexpr uint32_t kSecondOp = WEFT_OP_BARRIER;
#endif

[[maybe_unused]] const char* const choices[] = {"left", FAULT_CHOICE};

constinit const Parameter params[] = {
    {{head(sizeof(Parameter), WEFT_ABI_MAJOR), FAULT_PARAM_NAME, "first", FAULT_PARAM_DEFAULT, 1, 8,
      WEFT_PARAM_INTEGER, 0, nullptr}},
    {{head(sizeof(Parameter), WEFT_ABI_MAJOR), "width", "second", -3, -4, 4, WEFT_PARAM_INTEGER, 0,
      nullptr}},
    {{head(sizeof(Parameter), WEFT_ABI_MAJOR), "side", "third", 1, FAULT_CHOICE_MIN,
      FAULT_CHOICE_MAX, FAULT_PARAM_TYPE, 0, FAULT_CHOICES}}};

constinit const Algorithm first = {{head(FAULT_ALGORITHM_SIZE, FAULT_ALGORITHM_MAJOR),
                                    FAULT_ALGORITHM_NAME, "the first", FAULT_OP,
                                    WEFT_ALGORITHM_RANK_ORDER, FAULT_MIN_RANKS, FAULT_MAX_RANKS, 3,
                                    kStride, &params[0].known, FAULT_EMIT, FAULT_HCCL_ALGO}};
[[maybe_unused]] constinit const Algorithm second = {{head(sizeof(second), WEFT_ABI_MAJOR), "two",
                                                      nullptr, kSecondOp, 0, 3, 4, 0, 0, nullptr,
                                                      &emit, nullptr}};

#ifdef FAULT_EAGER
// Does in its initialiser what a plugin must not do before it is opened.
[[maybe_unused]] const int eager = [] {
  setenv("WEFT_FAULT_EAGER", "1", 1);
  std::signal(SIGUSR2, SIG_IGN);
  return 0;
}();
#endif

[[maybe_unused]] const weft_algorithm* known(const Algorithm* algorithm) {
  return algorithm == nullptr ? nullptr : &algorithm->known;
}

}  // namespace

extern "C" WEFT_EXPORT const weft_plugin_desc* FAULT_SYMBOL(void) {
#ifdef FAULT_THROW
  throw FAULT_THROW;
#else
  static const weft_algorithm* const items[] = {known(&first), known(FAULT_SECOND)};
  [[maybe_unused]] static const Table table = {
      {head(sizeof(table), FAULT_TABLE_MAJOR), FAULT_COUNT, 0, items}};
  [[maybe_unused]] static const Descriptor desc = {{head(FAULT_DESC_SIZE, FAULT_DESC_MAJOR),
                                                    FAULT_MAGIC, FAULT_KIND, FAULT_NAME, "1.2.3",
                                                    "for tests", FAULT_TABLE}};
  return FAULT_RESULT;
#endif
}
