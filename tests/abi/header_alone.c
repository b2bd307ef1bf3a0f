/* SPDX-License-Identifier: Apache-2.0 */
/* One header and nothing else, as C99: built for every header. */
#include WEFT_HEADER
