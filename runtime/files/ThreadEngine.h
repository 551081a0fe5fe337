// pread and pwrite on threads.
#ifndef ZERO_RUNTIME_FILES_THREADENGINE_H
#define ZERO_RUNTIME_FILES_THREADENGINE_H

#include "files/FileEngine.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace zrt {

/// For kernels and containers without io_uring. A call of pread keeps a thread
/// until the disk answers, so there is a thread for each transfer in flight, up
/// to 16: more would only take turns.
class ThreadEngine final : public FileEngine {
public:
  /// `reason`, which may be empty, says in reports why it is this engine.
  ThreadEngine(uint32_t depth, std::string reason);
  ~ThreadEngine() override;

  void begin(Finished finished) override;
  void start(const FileTransfer &transfer) override;
  std::string describe() const override;

private:
  void serve();
  void end();

  const uint32_t count;
  const std::string reason;
  Finished finished;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<FileTransfer> queue; ///< not yet taken by a thread
  bool ending = false;
  std::vector<std::thread> threads;
};

} // namespace zrt

#endif // ZERO_RUNTIME_FILES_THREADENGINE_H
