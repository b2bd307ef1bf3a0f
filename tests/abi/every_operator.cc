// SPDX-License-Identifier: Apache-2.0
// The same program as C++: built for every standard.
#include "every_operator.c"
