// SPDX-License-Identifier: Apache-2.0
#include "last_words.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "command.hpp"

namespace weft::tools {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};

char g_last_words[512];  // NOLINT: of the handlers; empty: there are none

void say_and_leave(int) {
  const ssize_t ignored = write(STDERR_FILENO, g_last_words, strlen(g_last_words));
  static_cast<void>(ignored);
  _exit(kFailed);
}

void look_at_exit() {
  if (g_last_words[0] != '\0') say_and_leave(0);
}

}  // namespace

LastWords::LastWords(std::string command, std::string remedy)
    : command_(std::move(command)), remedy_(std::move(remedy)) {
  static const int registered = std::atexit(look_at_exit);
  static_cast<void>(registered);
  stack_.resize(64 << 10);
  stack_t alternate{};
  alternate.ss_sp = stack_.data();
  alternate.ss_size = stack_.size();
  sigaltstack(&alternate, nullptr);
  for (const int number : kSignals) {
    struct sigaction action {};
    action.sa_handler = say_and_leave;
    action.sa_flags = SA_ONSTACK;
    sigaction(number, &action, nullptr);
  }
}

LastWords::~LastWords() {
  alarm(0);
  g_last_words[0] = '\0';
  for (const int number : kSignals) signal(number, SIG_DFL);
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
}

void LastWords::prepare(const std::string& algorithm, uint32_t ranks,
                        std::chrono::seconds patience) {
  const std::string text = fmt::format(
      "{}: {} crashed, ended the program, or did not come back within {} s, when it was asked for "
      "{} ranks{}\n",
      command_, algorithm, patience.count(), ranks, remedy_);
  g_last_words[text.copy(g_last_words, sizeof g_last_words - 1)] = '\0';
  alarm(static_cast<unsigned>(patience.count()));
}

}  // namespace weft::tools
