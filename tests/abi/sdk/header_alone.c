/* SPDX-License-Identifier: Apache-2.0
 * A translation unit of one header and nothing else. */
#include WEFT_HEADER

int weft_header_alone(void);
int weft_header_alone(void) { return 0; }
