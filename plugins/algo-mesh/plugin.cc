// SPDX-License-Identifier: Apache-2.0
// The mesh plugin: what it offers.
#include "weft/sdk.hpp"

WEFT_EXTERN_ALGORITHM(one_shot);
WEFT_EXTERN_ALGORITHM(two_shot);
WEFT_EXTERN_ALGORITHM(reduce);
WEFT_EXTERN_ALGORITHM(reduce_flat);
WEFT_EXTERN_ALGORITHM(reduce_pull);
WEFT_EXTERN_ALGORITHM(reduce_scatter);
WEFT_EXTERN_ALGORITHM(reduce_scatter_push);
WEFT_EXTERN_ALGORITHM(reduce_scatter_v);
WEFT_EXTERN_ALGORITHM(all_gather);
WEFT_EXTERN_ALGORITHM(all_gather_push);
WEFT_EXTERN_ALGORITHM(all_gather_v);
WEFT_EXTERN_ALGORITHM(all_to_all);
WEFT_EXTERN_ALGORITHM(all_to_all_push);
WEFT_EXTERN_ALGORITHM(all_to_all_v);
WEFT_EXTERN_ALGORITHM(pairwise);
WEFT_EXTERN_ALGORITHM(pairwise_v);
WEFT_EXTERN_ALGORITHM(broadcast);
WEFT_EXTERN_ALGORITHM(broadcast_flat);
WEFT_EXTERN_ALGORITHM(broadcast_pull);
WEFT_EXTERN_ALGORITHM(broadcast_push);
WEFT_EXTERN_ALGORITHM(scatter);
WEFT_EXTERN_ALGORITHM(scatter_push);
WEFT_EXTERN_ALGORITHM(barrier);

WEFT_PLUGIN("mesh", "1.0.0", "every pair of ranks directly: few rounds",  //
            WEFT_USE(one_shot), WEFT_USE(two_shot), WEFT_USE(reduce), WEFT_USE(reduce_flat),
            WEFT_USE(reduce_pull), WEFT_USE(reduce_scatter), WEFT_USE(reduce_scatter_push),
            WEFT_USE(reduce_scatter_v), WEFT_USE(all_gather), WEFT_USE(all_gather_push),
            WEFT_USE(all_gather_v), WEFT_USE(all_to_all), WEFT_USE(all_to_all_push),
            WEFT_USE(all_to_all_v), WEFT_USE(pairwise), WEFT_USE(pairwise_v), WEFT_USE(broadcast),
            WEFT_USE(broadcast_flat), WEFT_USE(broadcast_pull), WEFT_USE(broadcast_push),
            WEFT_USE(scatter), WEFT_USE(scatter_push), WEFT_USE(barrier));
