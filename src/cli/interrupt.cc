#include "cli/interrupt.h"

#include <unistd.h>

#include <csignal>

namespace nextscale {
namespace {

constexpr int kInterruptedStatus = 130;

// A signal handler can reach nothing else.
CancelToken g_interrupted;

void OnSignal(int) {
  if (g_interrupted.cancelled()) _exit(kInterruptedStatus);
  g_interrupted.Cancel();
}

}  // namespace

CancelToken& InterruptToken() { return g_interrupted; }

void InstallInterruptHandler() {
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace nextscale
