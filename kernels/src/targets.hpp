// SPDX-License-Identifier: Apache-2.0
// Chooses which vector targets are compiled; to be included before anything of Highway.
#pragma once

// Scalable vectors cannot be members of structs, as the register packs need, and the remaining
// x86 targets have nothing over those kept that a reduction could use.
#define WEFT_KERNELS_DISABLED                                                            \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | \
   HWY_WASM | HWY_WASM_EMU256)
// HWY_DISABLED_TARGETS is Highway's own name for the processors it shall not compile code for; no
// check is switched off by it. A sanitizer build compiles two x86 targets only: vector code is not
// instrumented there, so the others would show nothing and take long.
#ifdef WEFT_KERNELS_FEW_TARGETS
#define HWY_DISABLED_TARGETS (WEFT_KERNELS_DISABLED | HWY_SSE4 | HWY_AVX3)
#else
#define HWY_DISABLED_TARGETS WEFT_KERNELS_DISABLED
#endif
