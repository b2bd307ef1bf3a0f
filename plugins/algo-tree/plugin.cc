// SPDX-License-Identifier: Apache-2.0
// The tree plugin: what it offers.
#include "weft/sdk.hpp"

WEFT_EXTERN_ALGORITHM(hd_all_reduce);
WEFT_EXTERN_ALGORITHM(hd_reduce_scatter);
WEFT_EXTERN_ALGORITHM(hd_all_gather);
WEFT_EXTERN_ALGORITHM(hd_broadcast);
WEFT_EXTERN_ALGORITHM(hd_reduce);
WEFT_EXTERN_ALGORITHM(nhr_all_reduce);
WEFT_EXTERN_ALGORITHM(nhr_reduce_scatter);
WEFT_EXTERN_ALGORITHM(nhr_reduce_scatter_v);
WEFT_EXTERN_ALGORITHM(nhr_all_gather);
WEFT_EXTERN_ALGORITHM(nhr_all_gather_v);
WEFT_EXTERN_ALGORITHM(nhr_broadcast);
WEFT_EXTERN_ALGORITHM(nhr_scatter);
WEFT_EXTERN_ALGORITHM(nhr_reduce);
WEFT_EXTERN_ALGORITHM(doubling_all_reduce);
WEFT_EXTERN_ALGORITHM(gather_all_reduce);
WEFT_EXTERN_ALGORITHM(star_all_reduce);
WEFT_EXTERN_ALGORITHM(barrier);
WEFT_EXTERN_ALGORITHM(star_barrier);

WEFT_PLUGIN("tree", "1.0.0", "halving, doubling and trees: log2 n rounds for many ranks",
            WEFT_USE(hd_all_reduce), WEFT_USE(hd_reduce_scatter), WEFT_USE(hd_all_gather),
            WEFT_USE(hd_broadcast), WEFT_USE(hd_reduce), WEFT_USE(nhr_all_reduce),
            WEFT_USE(nhr_reduce_scatter), WEFT_USE(nhr_reduce_scatter_v), WEFT_USE(nhr_all_gather),
            WEFT_USE(nhr_all_gather_v), WEFT_USE(nhr_broadcast), WEFT_USE(nhr_scatter),
            WEFT_USE(nhr_reduce), WEFT_USE(doubling_all_reduce), WEFT_USE(gather_all_reduce),
            WEFT_USE(barrier), WEFT_USE(star_all_reduce), WEFT_USE(star_barrier));
