// SPDX-License-Identifier: Apache-2.0
// A translation unit of one header and nothing else.
#include WEFT_HEADER
