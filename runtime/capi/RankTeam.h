// One thread for each rank, which does what it is told, again and again.
#ifndef ZERO_RUNTIME_CAPI_RANKTEAM_H
#define ZERO_RUNTIME_CAPI_RANKTEAM_H

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace zrt {

/// The threads take no signals: those of the process belong to its own
/// threads, and no handler may run where oneDNN's compiled products have moved
/// the stack pointer.
class RankTeam {
public:
  using Job = std::function<void(int rank)>;

  /// Throws std::runtime_error where a thread does not start.
  explicit RankTeam(int ranks);
  /// Waits for the job that runs, if any.
  ~RankTeam();
  RankTeam(const RankTeam &) = delete;
  RankTeam &operator=(const RankTeam &) = delete;

  /// Lets all ranks do `job` and returns at once. `job` must not throw.
  /// \pre No job runs.
  void start(Job job);
  /// Waits until all ranks are done.
  void wait();
  void run(Job job) {
    start(std::move(job));
    wait();
  }

private:
  void serve(int rank);
  void end();

  std::mutex mutex;
  std::condition_variable changed;
  Job job;
  uint64_t jobs = 0; ///< given so far
  int running = 0;   ///< ranks that are not done with the last one
  bool ending = false;
  std::vector<std::thread> threads;
};

} // namespace zrt

#endif // ZERO_RUNTIME_CAPI_RANKTEAM_H
