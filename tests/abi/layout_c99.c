/* SPDX-License-Identifier: Apache-2.0 */
/* The C99 view of the headers against the golden table: prints what differs, fails if anything
 * does. */
#include <stddef.h>
#include <stdio.h>

#include "hccl/hccl.h"
#include "hccl/hccl_sym_win.h"
#include "hccl/hcom.h"

static int differences = 0;

static void expect(const char* what, long long actual, long long expected) {
  if (actual != expected) {
    printf("%s: %lld instead of %lld\n", what, actual, expected);
    ++differences;
  }
}

#define VALUE(name, number) expect(#name, (long long)name, number);
#define CONSTANT(type, name, number) expect(#name, (long long)name, (long long)(type)(number));
#define TYPE(type, size, alignment)                                                        \
  {                                                                                        \
    struct aligned {                                                                       \
      char first;                                                                          \
      type second;                                                                         \
    };                                                                                     \
    expect("size of " #type, (long long)sizeof(type), size);                               \
    expect("alignment of " #type, (long long)offsetof(struct aligned, second), alignment); \
  }
#define FIELD(type, field, offset, size)                                           \
  expect("offset of " #type "." #field, (long long)offsetof(type, field), offset); \
  expect("size of " #type "." #field, (long long)sizeof(((type*)0)->field), size);
/* Two pointers of different types under one conditional do not compile. */
#define FUNCTION(result, name, arguments) (void)sizeof(1 ? name : (result(*) arguments)0);

int main(void) {
#include "hccl_layout.golden"
  return differences == 0 ? 0 : 1;
}
