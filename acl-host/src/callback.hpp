// SPDX-License-Identifier: Apache-2.0
// User functions in stream order.
#pragma once

namespace weft::acl {

struct Context;
struct Stream;

/// Ends the thread that runs the context's host functions, once it has run what it was given.
void retire_host_thread(Context& context) noexcept;

/// Unbinds the thread that runs the stream's callbacks, if there is one; `discard` also drops the
/// callbacks that the thread has not begun.
void forget_subscriber(Stream& stream, bool discard) noexcept;

}  // namespace weft::acl
