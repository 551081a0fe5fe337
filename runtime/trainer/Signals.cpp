#include "trainer/Signals.h"

#include <atomic>
#include <csignal>

using namespace zrt;

namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};
// Written by the handler, read by all ranks' threads.
std::atomic<int> receivedSignal{0};
static_assert(std::atomic<int>::is_always_lock_free);

void restoreDefaults() {
  for (int number : kSignals)
    std::signal(number, SIG_DFL);
}

extern "C" void zeroStopHandler(int number) {
  receivedSignal = number;
  restoreDefaults();
}

} // namespace

StopSignals::StopSignals() {
  receivedSignal = 0;
  struct sigaction action{};
  action.sa_handler = zeroStopHandler;
  // Reads and writes of data and metrics go on.
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (int number : kSignals)
    ::sigaction(number, &action, nullptr);
}

StopSignals::~StopSignals() { restoreDefaults(); }

int StopSignals::received() { return receivedSignal; }
