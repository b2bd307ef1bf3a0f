// SPDX-License-Identifier: Apache-2.0
// One header and nothing else: built for every header and C++ standard.
#include WEFT_HEADER
