// SPDX-License-Identifier: Apache-2.0
// Refers to every function of the headers; the symbol table of the object tells weak from strong.
#include "hccl/hccl.h"
#include "hccl/hccl_sym_win.h"
#include "hccl/hcom.h"

#define VALUE(name, number)
#define CONSTANT(type, name, number)
#define TYPE(type, size, alignment)
#define FIELD(type, field, offset, size)
#define FUNCTION(result, name, arguments) reinterpret_cast<void (*)()>(name),

extern void (*const function_references[])();
void (*const function_references[])() = {
#include "hccl_layout.golden"
};
