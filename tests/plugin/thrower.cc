// SPDX-License-Identifier: Apache-2.0
// Algorithms that throw while they emit: through the SDK's trampoline, and by hand, against P8.
#include <new>
#include <stdexcept>

#include "weft/sdk.hpp"

static void error(const weft::Problem&, weft::Schedule&) { throw std::runtime_error("no idea"); }
static void memory(const weft::Problem&, weft::Schedule&) { throw std::bad_alloc(); }
static void number(const weft::Problem&, weft::Schedule&) { throw 42; }

WEFT_ALGORITHM(error, .name = "error", .summary = "throws", .op = WEFT_OP_ALL_REDUCE);
WEFT_ALGORITHM(memory, .name = "memory", .summary = "throws", .op = WEFT_OP_ALL_REDUCE);
WEFT_ALGORITHM(number, .name = "number", .summary = "throws", .op = WEFT_OP_ALL_REDUCE);

static int32_t emit_raw(const weft_problem*, const weft_builder*) {
  throw std::runtime_error("across the boundary");
}

static constinit const weft_algorithm raw = {WEFT_HEAD(weft_algorithm),
                                             "raw",
                                             "throws",
                                             WEFT_OP_ALL_REDUCE,
                                             0,
                                             2,
                                             0,
                                             0,
                                             0,
                                             nullptr,
                                             &emit_raw,
                                             nullptr};

WEFT_PLUGIN("thrower", "1.0.0", "throws", WEFT_USE(error), WEFT_USE(memory), WEFT_USE(number),
            &raw);
