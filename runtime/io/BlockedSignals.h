// Threads that no signal interrupts.
#ifndef ZERO_RUNTIME_IO_BLOCKEDSIGNALS_H
#define ZERO_RUNTIME_IO_BLOCKEDSIGNALS_H

#include <csignal>
#include <pthread.h>

namespace zrt {

/// Blocks all signals but those of faults in the thread that makes it, for as
/// long as it lives; threads that it starts meanwhile keep that.
class BlockedSignals {
public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT})
      sigdelset(&all, fault);
    ::pthread_sigmask(SIG_SETMASK, &all, &previous);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &previous, nullptr); }
  BlockedSignals(const BlockedSignals &) = delete;
  BlockedSignals &operator=(const BlockedSignals &) = delete;

private:
  sigset_t previous;
};

} // namespace zrt

#endif // ZERO_RUNTIME_IO_BLOCKEDSIGNALS_H
