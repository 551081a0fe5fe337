// Whether the threads of all ranks will end.
#ifndef ZERO_RUNTIME_TRAINER_RANKENDS_H
#define ZERO_RUNTIME_TRAINER_RANKENDS_H

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace zrt {

class RankEnds {
public:
  explicit RankEnds(int ranks) : running(ranks) {}

  void noteEnd() { noteMissing(1); }
  /// So many will never run.
  void noteMissing(int ranks) {
    const std::lock_guard<std::mutex> lock(mutex);
    running -= ranks;
    changed.notify_all();
  }
  /// A rank has failed, and its peers have been told.
  void noteFailure() {
    const std::lock_guard<std::mutex> lock(mutex);
    failed = true;
    changed.notify_all();
  }

  /// Waits until all have ended. False where one has failed and others do not
  /// end although they were told: they hang outside of what ranks do together.
  bool await() {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [this] { return failed || running == 0; });
    return changed.wait_for(lock, kPatience, [this] { return running == 0; });
  }

private:
  /// The longest time that a rank's current work may take to end: a kernel, or
  /// a file that is written.
  static constexpr std::chrono::seconds kPatience{10};

  std::mutex mutex;
  std::condition_variable changed;
  int running;
  bool failed = false;
};

} // namespace zrt

#endif // ZERO_RUNTIME_TRAINER_RANKENDS_H
