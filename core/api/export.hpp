// SPDX-License-Identifier: Apache-2.0
// Exporting a function of the C API. Include it before any HCCL header: it makes the library's own
// references and definitions strong, so that a function defined twice fails to link.
#pragma once

#ifndef HCOMM_WEAK_SYMBOL
#define HCOMM_WEAK_SYMBOL
#endif

#define WEFT_API __attribute__((visibility("default")))
