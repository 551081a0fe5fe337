// Where all ranks stop in the middle of a job until they are let on.
#ifndef ZERO_RUNTIME_CAPI_GATE_H
#define ZERO_RUNTIME_CAPI_GATE_H

#include <condition_variable>
#include <mutex>

namespace zrt {

class Gate {
public:
  explicit Gate(int ranks) : ranks(ranks) {}

  /// Waits until the gate opens; called by each rank. Returns false if the job
  /// is to end here.
  bool arrive();
  /// Waits until all ranks are here; false where the gate opened before.
  bool awaitAll();
  /// Opens the gate for good: with `goOn` false, the ranks are to end.
  void open(bool goOn);

private:
  const int ranks;
  std::mutex mutex;
  std::condition_variable changed;
  int arrived = 0;
  bool isOpen = false, goesOn = true;
};

} // namespace zrt

#endif // ZERO_RUNTIME_CAPI_GATE_H
