#include "files/FaultyEngine.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

using namespace zrt;

namespace {

/// Written instead of what was given, at addresses that any file takes.
using Replacement = std::unique_ptr<char, decltype(&std::free)>;
constexpr size_t kAlignment = 4096;

Replacement copyOf(const FileTransfer &transfer) {
  const size_t room =
      (transfer.bytes + kAlignment - 1) / kAlignment * kAlignment;
  Replacement copy(static_cast<char *>(std::aligned_alloc(kAlignment, room)),
                   &std::free);
  if (copy)
    std::memcpy(copy.get(), transfer.memory, transfer.bytes);
  return copy;
}

class FaultyEngine final : public FileEngine {
public:
  FaultyEngine(std::unique_ptr<FileEngine> engine, Faults &faults)
      : faults(faults), engine(std::move(engine)) {}

  void begin(Finished finished) override {
    engine->begin([this, finished](uint32_t slot, int64_t result) {
      finished(slot, changed(slot, result));
    });
  }

  void start(const FileTransfer &transfer) override {
    const auto fault = transfer.isWrite
                           ? faults.next(kFileWriteOperation, "file-write")
                           : faults.next(kFileReadOperation, "file-read");
    FileTransfer actual = transfer;
    if (fault) {
      const std::lock_guard<std::mutex> lock(mutex);
      Pending &pending = open[transfer.slot];
      pending.fault = *fault;
      pending.transfer = transfer;
      if (transfer.isWrite)
        replace(pending, actual);
    }
    engine->start(actual);
  }

  std::string describe() const override { return engine->describe(); }

private:
  struct Pending {
    InjectedFault fault;
    FileTransfer transfer;
    Replacement written{nullptr, &std::free};
  };

  /// Has something else written, where the fault says so.
  static void replace(Pending &pending, FileTransfer &actual) {
    if (pending.fault.kind != FaultKind::Torn &&
        pending.fault.kind != FaultKind::Flip)
      return;
    pending.written = copyOf(actual);
    if (!pending.written)
      return;
    char *const bytes = pending.written.get();
    const size_t half = actual.bytes / 2;
    if (pending.fault.kind == FaultKind::Torn)
      std::memset(bytes + half, 0, actual.bytes - half);
    else
      flipBit(bytes, actual.bytes, pending.fault.bit);
    actual.memory = bytes;
  }

  /// What is told of a transfer that is over.
  int64_t changed(uint32_t slot, int64_t result) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = open.find(slot);
    if (found == open.end())
      return result;
    const Pending pending = std::move(found->second);
    open.erase(found);
    switch (pending.fault.kind) {
    case FaultKind::Eio:
      return -EIO;
    case FaultKind::Enospc:
      return -ENOSPC;
    case FaultKind::Short:
      return result / 2;
    case FaultKind::Flip:
      if (!pending.transfer.isWrite && result > 0)
        flipBit(pending.transfer.memory, size_t(result), pending.fault.bit);
      return result;
    default:
      return result;
    }
  }

  Faults &faults;
  std::mutex mutex;
  std::map<uint32_t, Pending> open;   ///< by slot
  std::unique_ptr<FileEngine> engine; ///< last: its threads use the others
};

} // namespace

std::unique_ptr<FileEngine>
zrt::makeFaultyEngine(std::unique_ptr<FileEngine> engine, Faults &faults) {
  return std::make_unique<FaultyEngine>(std::move(engine), faults);
}
