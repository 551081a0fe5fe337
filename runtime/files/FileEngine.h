// Reads and writes of files that go on while their caller does something else.
#ifndef ZERO_RUNTIME_FILES_FILEENGINE_H
#define ZERO_RUNTIME_FILES_FILEENGINE_H

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace zrt {

/// One read or write of a file.
struct FileTransfer {
  bool isWrite = false;
  int descriptor = -1;
  uint64_t offset = 0; ///< in the file
  char *memory = nullptr;
  uint32_t bytes = 0;
  uint32_t slot = 0; ///< what `Finished` calls it by
};

/// Carries out transfers, on threads of its own.
class FileEngine {
public:
  /// `result` is what read(2) returns: bytes moved, which may be fewer than
  /// asked for, or a negative errno.
  using Finished = std::function<void(uint32_t slot, int64_t result)>;

  /// Nothing may be in flight.
  virtual ~FileEngine();

  /// Once, before anything else. `finished` is called once for each transfer,
  /// on a thread of the engine and never within `start`; it may call `start`,
  /// and several calls may be made at once.
  /// Throws std::runtime_error where no thread can be started.
  virtual void begin(Finished finished) = 0;
  /// Returns at once. Not more than the engine's depth may be in flight.
  virtual void start(const FileTransfer &transfer) = 0;

  /// A few words for reports: "io_uring".
  virtual std::string describe() const = 0;
};

enum class FileEngineKind {
  Best, ///< io_uring; threads where the kernel refuses it
  Uring,
  Threads
};

/// For `depth` transfers at a time. Throws std::runtime_error with the reason
/// where the kernel refuses io_uring and it is the one asked for.
std::unique_ptr<FileEngine>
makeFileEngine(uint32_t depth, FileEngineKind kind = FileEngineKind::Best);

} // namespace zrt

#endif // ZERO_RUNTIME_FILES_FILEENGINE_H
