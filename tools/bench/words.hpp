// SPDX-License-Identifier: Apache-2.0
// Words of a command line that say which call is meant. All throw UsageError with the nearest known
// word.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

#include "bench/memory.hpp"
#include "bench/op.hpp"
#include "bench/spec.hpp"
#include "command.hpp"
#include "hccl/hccl_types.h"
#include "options.hpp"

namespace weft::tools {

/// The one word that is no option; `others` is what else it may be, for the message.
[[nodiscard]] Op parse_operator(const Words& words, const char* others);
[[nodiscard]] HcclDataType parse_data_type(const std::string& text);
[[nodiscard]] HcclReduceOp parse_reduction(const std::string& text);
[[nodiscard]] MemoryKind parse_memory(const std::string& text);

/// WEFT_OP_* of the rules that choose for an operator. Throws UsageError if there are none.
[[nodiscard]] uint32_t policy_operation(Op op);

/// Throws UsageError if `wrong`.
void refuse(bool wrong, const std::string& why);

/// Refuses options that the operation does not have; `about_data` are those which mean nothing
/// without any.
void check_operator(const Options& options, const Spec& spec,
                    std::initializer_list<const char*> about_data);

}  // namespace weft::tools
