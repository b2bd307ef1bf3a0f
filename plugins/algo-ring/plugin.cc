// SPDX-License-Identifier: Apache-2.0
// The ring plugin: what it offers.
#include "weft/sdk.hpp"

WEFT_EXTERN_ALGORITHM(all_reduce);
WEFT_EXTERN_ALGORITHM(reduce_scatter);
WEFT_EXTERN_ALGORITHM(reduce_scatter_v);
WEFT_EXTERN_ALGORITHM(all_gather);
WEFT_EXTERN_ALGORITHM(all_gather_v);
WEFT_EXTERN_ALGORITHM(broadcast);

WEFT_PLUGIN("ring", "1.0.0", "neighbours only: many steps, each rank talks to two others",
            WEFT_USE(all_reduce), WEFT_USE(reduce_scatter), WEFT_USE(reduce_scatter_v),
            WEFT_USE(all_gather), WEFT_USE(all_gather_v), WEFT_USE(broadcast));
