// SPDX-License-Identifier: Apache-2.0
// Endpoints of the tasks engine whose communicators were destroyed. A peer that does not know that
// yet may put a call on a stream, which copies to this rank's memory and records its flags: both
// stay until the news has had time to come.
#pragma once

#include "weft/transport.h"

namespace weft::comm {

/// Closes the endpoint after a few seconds, or when more than two wait for that, on a thread of its
/// own. Never throws: without a thread
/// it stays open.
void close_later(const weft_transport& transport, void* endpoint) noexcept;

/// Closes all of them at once, for lack of what they hold. True if there were any.
bool close_now() noexcept;

}  // namespace weft::comm
