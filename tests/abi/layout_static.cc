// SPDX-License-Identifier: Apache-2.0
// The C++ view of the headers against the golden table, at compile time; built once per standard.
#include <cstddef>
#include <type_traits>

#include "hccl/hccl.h"
#include "hccl/hccl_sym_win.h"
#include "hccl/hcom.h"

#define VALUE(name, number) static_assert(static_cast<long long>(name) == (number), #name);
#define CONSTANT(type, name, number)                                     \
  static_assert(std::is_same<decltype(name), const type>::value, #name); \
  static_assert(name == static_cast<type>(number), #name);
#define TYPE(type, size, alignment) \
  static_assert(sizeof(type) == (size) && alignof(type) == (alignment), #type);
#define FIELD(type, field, offset, size)                          \
  static_assert(offsetof(type, field) == (offset), #type #field); \
  static_assert(sizeof(reinterpret_cast<type*>(0)->field) == (size), #type #field);
#define FUNCTION(result, name, arguments) \
  static_assert(std::is_same<decltype(name), result arguments>::value, #name);

#include "hccl_layout.golden"
