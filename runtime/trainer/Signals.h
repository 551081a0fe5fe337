// Stopping a run from outside.
#ifndef ZERO_RUNTIME_TRAINER_SIGNALS_H
#define ZERO_RUNTIME_TRAINER_SIGNALS_H

#include <atomic>
#include <csignal>
#include <functional>
#include <thread>

namespace zrt {

/// Whether the process was started to ignore `signal`, as nohup does.
bool isIgnored(int signal);

/// While it lives, the first SIGINT, SIGTERM or SIGHUP (a terminal that is
/// gone, unless the process was started to ignore that) asks for a clean stop.
/// Then another SIGINT ends the process at once, and others change nothing,
/// since launchers and schedulers repeat them. SIGQUIT does what `onQuit` was
/// given, and the run goes on.
///
/// No thread runs a handler: oneDNN's compiled products move the stack pointer
/// into a small workspace on the heap, where a handler's frame would overwrite
/// what lies around it. They are blocked in the thread that makes the
/// object and in all that it starts later, and one thread waits for them. So
/// make it before any other thread, and one at a time.
class StopSignals {
public:
  /// Throws std::system_error where no thread can be started.
  StopSignals();
  /// Signals that are still pending are dropped.
  ~StopSignals();
  StopSignals(const StopSignals &) = delete;
  StopSignals &operator=(const StopSignals &) = delete;

  /// The run has ended well: SIGTERM and SIGHUP, where that is not ignored,
  /// stay blocked until the process ends.
  void noteGoodEnd() { endsWell = true; }

  /// The signal that asked to stop, or 0.
  static int received();
  /// Sets the action of SIGQUIT, which runs on the thread that waits; without
  /// one, the signal does nothing. Null removes the action, and returns when it
  /// is not running.
  static void onQuit(std::function<void()> action);

private:
  void wait();

  sigset_t signals, previousMask;
  bool endsWell = false;
  std::atomic<bool> ending{false};
  std::thread waiter;
};

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_SIGNALS_H
