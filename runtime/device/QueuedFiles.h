// Reads and writes of files between the work of a device.
#ifndef ZERO_RUNTIME_DEVICE_QUEUEDFILES_H
#define ZERO_RUNTIME_DEVICE_QUEUEDFILES_H

#include "device/QueuedCopies.h"
#include "files/FileMemory.h"

#include <mutex>
#include <stdexcept>
#include <string>
#include <tuple>

namespace zrt {

/// A read or a write of a file that has failed, under the name of its command.
class FileError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Each is a call of the host, between pinned memory and a file. A graph holds
/// such calls as it holds kernels.
class QueuedFiles final : public QueuedWork {
public:
  /// All are borrowed.
  QueuedFiles(Device &device, const Queues &queues, CommandTimes &times,
              FileMemory &files)
      : QueuedWork(device, queues, times), files(files) {}

  /// Throws FileError for what failed first, which the device cannot say. Once
  /// all that was queued is done.
  void check();

private:
  /// One read or write, which waits for its end; nothing once one has failed.
  struct Transfer final : HostCall {
    void run() noexcept override;
    QueuedFiles *owner = nullptr;
    uint32_t ticket = 0;
    void *to = nullptr;
    const void *from = nullptr;
    std::string command; ///< that queued it
  };
  using Key = std::tuple<uint32_t, void *, const void *>;

  void enqueue(Device::Queue queue, uint32_t ticket, void *to, const void *from,
               size_t bytes) override;

  FileMemory &files;
  std::map<Key, Transfer> calls; ///< graphs refer to them
  std::mutex mutex;
  std::string failure; ///< empty: none
};

} // namespace zrt

#endif // ZERO_RUNTIME_DEVICE_QUEUEDFILES_H
