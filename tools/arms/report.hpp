// SPDX-License-Identifier: Apache-2.0
// `weft ab report`: what experiments on live calls have found, from the files of all ranks.
#pragma once

#include "command.hpp"

namespace weft::tools {

int report_command(const Words& words);

}  // namespace weft::tools
