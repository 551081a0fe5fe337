#include "trainer/Signals.h"

#include <cerrno>
#include <ctime>
#include <mutex>
#include <pthread.h>
#include <unistd.h>

using namespace zrt;

namespace {

// Written by the thread that waits, read by all ranks' threads.
std::atomic<int> receivedSignal{0};

std::mutex quitMutex;
std::function<void()> quitAction; ///< under the mutex, while it runs too

/// Ends the process as if nothing had caught `number`.
void endBy(int number, const sigset_t &signals) {
  std::signal(number, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  ::kill(::getpid(), number);
}

} // namespace

bool zrt::isIgnored(int signal) {
  struct sigaction action = {};
  ::sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

StopSignals::StopSignals() {
  receivedSignal = 0;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGQUIT);
  if (!isIgnored(SIGHUP))
    sigaddset(&signals, SIGHUP);
  ::pthread_sigmask(SIG_BLOCK, &signals, &previousMask);
  waiter = std::thread(&StopSignals::wait, this);
}

StopSignals::~StopSignals() {
  ending = true;
  ::pthread_kill(waiter.native_handle(), SIGTERM);
  waiter.join();
  const timespec now{};
  while (::sigtimedwait(&signals, nullptr, &now) > 0 || errno == EINTR) {
  }
  // A launcher tells one rank after the other, and those that the first one has
  // stopped have ended well when they are told. Of a terminal that goes both
  // the shell and the system tell.
  if (endsWell)
    for (int signal : {SIGTERM, SIGHUP})
      if (sigismember(&signals, signal))
        sigaddset(&previousMask, signal);
  ::pthread_sigmask(SIG_SETMASK, &previousMask, nullptr);
}

void StopSignals::wait() {
  for (;;) {
    int number = 0;
    ::sigwait(&signals, &number);
    if (ending)
      return;
    if (number == SIGQUIT) {
      const std::lock_guard<std::mutex> lock(quitMutex);
      if (quitAction)
        quitAction();
    } else if (receivedSignal == 0)
      receivedSignal = number;
    else if (number == SIGINT)
      endBy(number, signals);
  }
}

int StopSignals::received() { return receivedSignal; }

void StopSignals::onQuit(std::function<void()> action) {
  const std::lock_guard<std::mutex> lock(quitMutex);
  quitAction = std::move(action);
}
