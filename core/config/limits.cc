// SPDX-License-Identifier: Apache-2.0
#include "config/limits.hpp"

namespace weft::config {
namespace {

using std::chrono::seconds;

constexpr std::string_view kPolicy = "policy";
constexpr std::string_view kBuiltIn = "built in";

// Added to the connect time-out, so that the root's verdict reaches everybody.
constexpr seconds kVerdict(20);

}  // namespace

// The policy may go below the variable's least value and needs no time for a verdict: it is for
// tests and services.
Limit connect_limit(const Environment& environment, const Settings& settings) {
  if (environment.connect_timeout) {
    return {*environment.connect_timeout + kVerdict, "HCCL_CONNECT_TIMEOUT"};
  }
  if (settings.connect_timeout) return {*settings.connect_timeout, kPolicy};
  return {seconds(120) + kVerdict, kBuiltIn};
}

Limit exec_limit(const Environment& environment, const Settings& settings) {
  if (environment.exec_timeout) return {*environment.exec_timeout, "HCCL_EXEC_TIMEOUT"};
  if (settings.exec_timeout) return {*settings.exec_timeout, kPolicy};
  return {seconds(1836), kBuiltIn};
}

}  // namespace weft::config
