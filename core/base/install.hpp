// SPDX-License-Identifier: Apache-2.0
// Where this installation is. Nothing is compiled in, so that the installed tree can be moved.
#pragma once

#include <filesystem>

namespace weft {

/// The root of this installation: WEFT_HOME if it is set, else the folder above the one that holds
/// the file with this code (P of P/lib64/libhccl.so and of P/bin/weft). Absolute. Throws Error
/// (HCCL_E_NOT_FOUND) if WEFT_HOME is no folder or the file is gone.
[[nodiscard]] std::filesystem::path install_prefix();

}  // namespace weft
