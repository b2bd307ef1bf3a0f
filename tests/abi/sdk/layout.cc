// SPDX-License-Identifier: Apache-2.0
// The layouts as a C++ compiler sees them.
#include "layout.c"
