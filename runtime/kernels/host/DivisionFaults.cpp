#include "kernels/host/DivisionFaults.h"

#include <csignal>
#include <mutex>

using namespace zrt::host;

/// Where this thread goes on.
static thread_local sigjmp_buf *target = nullptr;
static struct sigaction before;

static void handle(int signal, siginfo_t *info, void *context) {
  if (target && info->si_code == FPE_INTDIV)
    siglongjmp(*target, 1);
  if (before.sa_flags & SA_SIGINFO)
    return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
    return before.sa_handler(signal);
  // The instruction is tried again, and the default ends the process.
  std::signal(signal, SIG_DFL);
}

static void install() {
  struct sigaction action = {};
  action.sa_sigaction = handle;
  // A jump out of the handler leaves the signal as it was.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigaction(SIGFPE, &action, &before);
}

DivisionFaults::DivisionFaults() : outer(target) {
  static std::once_flag once;
  std::call_once(once, install);
  target = &buffer;
}

DivisionFaults::~DivisionFaults() { target = outer; }
