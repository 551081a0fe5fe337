// Ranges of a file on their way to memory and back.
#ifndef ZERO_RUNTIME_FILES_FILEQUEUE_H
#define ZERO_RUNTIME_FILES_FILEQUEUE_H

#include "files/BlockDigests.h"
#include "files/FileEngine.h"
#include "files/RankFile.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

namespace zrt {

/// Bytes and transfers of the file: whole blocks, where it wants them.
struct FileTraffic {
  uint64_t reads = 0, bytesRead = 0;
  uint64_t writes = 0, bytesWritten = 0;
};

/// Ranges that are waited for together.
struct FileBatch {
  uint64_t open = 0;   ///< ranges and transfers that are not over
  std::string failure; ///< the first
};

/// A read or a write of any range.
struct FileRange {
  bool isWrite = false;
  uint64_t offset = 0;
  char *memory = nullptr; ///< only read from, by a write
  uint64_t bytes = 0;
};

/// Cuts ranges into transfers of at most a block, in the order in which they
/// were started, and keeps `depth` of them in flight: each that is over starts
/// the next, on the engine's threads, so that nobody needs to wait for it.
///
/// Of a range that begins or ends within a block of the file, that block is
/// read, and written back with the part that is new. Ranges that share a block
/// take turns, and lose nothing. Ranges that are in flight together must not
/// overlap where one of them is written. Any thread may call anything.
///
/// What is read is compared with what was written, block by block, before
/// anybody has it; so is a block of which a part is written.
class FileQueue {
public:
  FileQueue(const RankFile &file, BlockDigests &digests, uint64_t blockBytes,
            uint32_t depth, std::unique_ptr<FileEngine> engine);
  /// Abandons.
  ~FileQueue();
  FileQueue(const FileQueue &) = delete;
  FileQueue &operator=(const FileQueue &) = delete;

  /// Returns at once. The memory must stay, and `batch`, until `wait`.
  void start(FileBatch &batch, const FileRange &range);
  /// Throws std::runtime_error, naming the file, the place, the bytes and the
  /// reason of what failed first. Nothing of `batch` is in flight then, and it
  /// may be used again.
  void wait(FileBatch &batch);
  /// Returns when nothing is in flight. Failures remain with their batches.
  void drain();
  /// The same, without what is left of ranges that wait: their batches fail.
  void abandon();

  FileTraffic traffic() const;
  std::string describe() const;

private:
  struct Waiting {
    FileBatch *batch = nullptr;
    FileRange rest;
  };
  /// A part of a range that moves at once.
  struct Piece {
    FileBatch *batch = nullptr;
    FileRange range; ///< no larger than the cut
    FileCut cut;
    AlignedBuffer buffer; ///< of the cut, where it is not direct
    FileTransfer transfer;
    uint64_t done = 0; ///< bytes of the cut
    int repeats = 0;

    /// Whether it has a part of a block, which has to stay as it is until then.
    /// Where that is written, the block is read before.
    bool needsTurn() const { return cut.isRagged(); }
    /// The memory of all bytes of the cut.
    char *memory() const { return buffer ? buffer.get() : range.memory; }
    /// The address in the buffer at which the range begins.
    char *inBuffer() const { return buffer.get() + (range.offset - cut.begin); }
  };

  void fill();
  bool cutNext(Piece &piece);
  bool takeBlock(Piece &piece);
  void begin(Piece piece);
  void restart(Piece &piece);
  void finished(uint32_t slot, int64_t result);
  bool advance(Piece &piece, int64_t result);
  bool digest(Piece &piece);
  void beginWriteBack(Piece &piece);
  void end(Piece &piece);
  void close(FileBatch &batch);
  void fail(const Piece &piece, int reason);
  void fail(const Piece &piece, uint64_t offset, uint64_t bytes,
            const std::string &why);

  const RankFile &file;
  BlockDigests &digests;
  const uint64_t blockBytes;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::deque<Waiting> waiting; ///< ranges, the first perhaps in part
  std::vector<Piece> slots;    ///< in flight, by slot
  std::vector<uint32_t> freeSlots;
  /// Blocks that ranges share, with those who wait for their turn.
  std::map<uint64_t, std::deque<Piece>> busyBlocks;
  std::deque<Piece> ready; ///< whose turn it is
  FileTraffic moved;
  std::unique_ptr<FileEngine> engine; ///< last: its threads use the others
};

} // namespace zrt

#endif // ZERO_RUNTIME_FILES_FILEQUEUE_H
