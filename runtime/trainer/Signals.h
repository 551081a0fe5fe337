// Stopping a run from outside.
#ifndef ZERO_RUNTIME_TRAINER_SIGNALS_H
#define ZERO_RUNTIME_TRAINER_SIGNALS_H

namespace zrt {

/// While it lives, the first SIGINT or SIGTERM asks for a clean stop; a second
/// one ends the process at once.
class StopSignals {
public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals &) = delete;
  StopSignals &operator=(const StopSignals &) = delete;

  /// The signal that asked to stop, or 0.
  static int received();
};

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_SIGNALS_H
