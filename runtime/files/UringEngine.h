// Reads and writes by io_uring.
#ifndef ZERO_RUNTIME_FILES_URINGENGINE_H
#define ZERO_RUNTIME_FILES_URINGENGINE_H

#include "files/FileEngine.h"

#include <deque>
#include <liburing.h>
#include <mutex>
#include <thread>
#include <vector>

namespace zrt {

/// One thread owns the ring: it submits, sleeps, and takes what is complete. So
/// whoever starts a transfer only leaves a note, the kernel pins pages and
/// completes requests in that thread rather than in one that computes, and a
/// queue that is longer than the ring moves on without anybody waiting for it.
class UringEngine final : public FileEngine {
public:
  /// Null where the kernel refuses it, and why in `reason`.
  static std::unique_ptr<FileEngine> make(uint32_t depth, std::string &reason);
  ~UringEngine() override;

  void begin(Finished finished) override;
  void start(const FileTransfer &transfer) override;
  std::string describe() const override;

private:
  UringEngine() = default;
  int open(uint32_t depth);
  void run();
  void wake();
  void takeCompleted();
  bool prepareQueued();
  void submit();
  void refusePrepared(int error);

  io_uring ring = {};
  bool hasRing = false;
  int events = -1; ///< an eventfd: something is complete, or queued
  Finished finished;
  std::thread thread;

  std::mutex mutex;
  std::deque<FileTransfer> queue; ///< not yet seen by the thread
  bool ending = false;

  /// In the ring, and not yet taken by the kernel. The thread's own.
  std::deque<io_uring_sqe *> prepared;
};

} // namespace zrt

#endif // ZERO_RUNTIME_FILES_URINGENGINE_H
