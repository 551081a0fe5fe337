#include "files/FileQueue.h"

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

using namespace zrt;

/// How often a transfer is repeated that the kernel has interrupted.
static constexpr int kMostRepeats = 1000;

//===----------------------------------------------------------------------===//
// From outside
//===----------------------------------------------------------------------===//

FileQueue::FileQueue(const RankFile &file, BlockDigests &digests,
                     uint64_t blockBytes, uint32_t depth,
                     std::unique_ptr<FileEngine> engine)
    : file(file), digests(digests), blockBytes(blockBytes), slots(depth),
      engine(std::move(engine)) {
  for (uint32_t slot = depth; slot-- > 0;)
    freeSlots.push_back(slot);
  this->engine->begin(
      [this](uint32_t slot, int64_t result) { finished(slot, result); });
}

FileQueue::~FileQueue() { abandon(); }

void FileQueue::start(FileBatch &batch, const FileRange &range) {
  if (range.bytes == 0)
    return;
  std::lock_guard<std::mutex> lock(mutex);
  waiting.push_back({&batch, range});
  ++batch.open;
  fill();
}

void FileQueue::wait(FileBatch &batch) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return batch.open == 0; });
  if (const std::string failure = std::exchange(batch.failure, "");
      !failure.empty())
    throw std::runtime_error(failure);
}

void FileQueue::drain() {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [this] { return freeSlots.size() == slots.size(); });
}

void FileQueue::abandon() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (const Waiting &range : waiting) {
      if (range.batch->failure.empty())
        range.batch->failure =
            file.path() + ": reads and writes were abandoned";
      close(*range.batch);
    }
    waiting.clear();
  }
  drain();
}

FileTraffic FileQueue::traffic() const {
  std::lock_guard<std::mutex> lock(mutex);
  return moved;
}

std::string FileQueue::describe() const { return engine->describe(); }

//===----------------------------------------------------------------------===//
// Starting
//===----------------------------------------------------------------------===//

/// Starts as much as there is room for.
void FileQueue::fill() {
  while (!freeSlots.empty()) {
    Piece piece;
    if (!ready.empty()) {
      piece = std::move(ready.front());
      ready.pop_front();
    } else if (!cutNext(piece)) {
      return;
    } else if (!takeBlock(piece)) {
      continue;
    }
    begin(std::move(piece));
  }
}

/// The next piece of the ranges that wait. False where there is none.
bool FileQueue::cutNext(Piece &piece) {
  while (!waiting.empty()) {
    Waiting &next = waiting.front();
    FileBatch *batch = next.batch;
    FileRange &rest = next.rest;
    if (!batch->failure.empty()) { // Who waits for it is told sooner.
      waiting.pop_front();
      close(*batch);
      continue;
    }
    piece.batch = batch;
    piece.range = rest;
    piece.cut = firstCut(rest.offset, reinterpret_cast<uintptr_t>(rest.memory),
                         rest.bytes, file.alignment(), blockBytes);
    piece.range.bytes = piece.cut.bytes;
    rest.offset += piece.cut.bytes;
    rest.memory += piece.cut.bytes;
    rest.bytes -= piece.cut.bytes;
    if (rest.bytes == 0)
      waiting.pop_front(); // The piece stands for the range from now on.
    else
      ++batch->open;
    return true;
  }
  return false;
}

/// False where `piece` has to wait for the block that it shares.
bool FileQueue::takeBlock(Piece &piece) {
  if (!piece.needsTurn())
    return true;
  const auto [found, isFree] = busyBlocks.try_emplace(piece.cut.begin);
  if (!isFree)
    found->second.push_back(std::move(piece));
  return isFree;
}

void FileQueue::begin(Piece piece) {
  if (!piece.cut.isDirect) {
    piece.buffer = makeAlignedBuffer(piece.cut.length, file.alignment());
    if (!piece.buffer) {
      fail(piece, ENOMEM);
      return end(piece);
    }
  }
  const bool isWrite = piece.range.isWrite && !piece.needsTurn();
  if (isWrite && piece.buffer)
    std::memcpy(piece.inBuffer(), piece.range.memory, piece.range.bytes);
  const uint32_t slot = freeSlots.back();
  freeSlots.pop_back();
  piece.transfer.isWrite = isWrite;
  piece.transfer.descriptor = file.descriptor();
  piece.transfer.slot = slot;
  slots[slot] = std::move(piece);
  restart(slots[slot]);
}

/// Starts what is left of the cut.
void FileQueue::restart(Piece &piece) {
  piece.transfer.offset = piece.cut.begin + piece.done;
  piece.transfer.memory = piece.memory() + piece.done;
  piece.transfer.bytes = static_cast<uint32_t>(piece.cut.length - piece.done);
  engine->start(piece.transfer);
}

//===----------------------------------------------------------------------===//
// What is over
//===----------------------------------------------------------------------===//

void FileQueue::finished(uint32_t slot, int64_t result) {
  Piece &piece = slots[slot]; // Nobody else's until its slot is free.
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!advance(piece, result))
      return restart(piece);
  }
  const bool isComplete = piece.done == piece.cut.length && digest(piece);
  const bool isRead = !piece.transfer.isWrite;
  std::lock_guard<std::mutex> lock(mutex);
  if (isComplete && isRead && piece.range.isWrite) {
    beginWriteBack(piece);
    return restart(piece);
  }
  if (isComplete && isRead && piece.buffer)
    std::memcpy(piece.range.memory, piece.inBuffer(), piece.range.bytes);
  freeSlots.push_back(slot);
  end(piece);
  piece = Piece();
  fill();
  if (freeSlots.size() == slots.size())
    changed.notify_all();
}

/// Of a piece that was moved whole, whether it may be used. Without the lock,
/// as engines with several threads can digest as much as they move.
bool FileQueue::digest(Piece &piece) {
  const FileCut &cut = piece.cut;
  if (piece.transfer.isWrite) {
    digests.record(cut.begin, piece.memory(), cut.length);
    return true;
  }
  const uint64_t found =
      digests.findChange(cut.begin, piece.memory(), cut.length);
  if (found == cut.begin + cut.length)
    return true;
  std::lock_guard<std::mutex> lock(mutex);
  fail(piece, found, digests.blockBytes(),
       "found other bytes than were written there (their checksum differs): "
       "the disk, or what is between it and memory, changes or loses what is "
       "written: name a folder on another disk (--nvme-path), and go on from "
       "the last checkpoint (--resume)");
  return false;
}

/// Counts what a transfer has moved. True where the piece is over, all of it or
/// with a failure.
bool FileQueue::advance(Piece &piece, int64_t result) {
  if (result == -EINTR || result == -EAGAIN) {
    if (++piece.repeats < kMostRepeats)
      return false;
  }
  if (result < 0) {
    fail(piece, int(-result));
    return true;
  }
  const uint64_t bytes = uint64_t(result);
  (piece.transfer.isWrite ? moved.writes : moved.reads) += 1;
  (piece.transfer.isWrite ? moved.bytesWritten : moved.bytesRead) += bytes;
  // The rest has to begin with a block, too.
  const uint64_t whole = bytes - bytes % file.alignment().offset;
  if (whole == 0) {
    fail(piece, 0);
    return true;
  }
  piece.repeats = 0;
  piece.done += whole;
  return piece.done == piece.cut.length;
}

/// The block that `piece` shares has been read.
void FileQueue::beginWriteBack(Piece &piece) {
  std::memcpy(piece.inBuffer(), piece.range.memory, piece.range.bytes);
  piece.transfer.isWrite = true;
  piece.done = 0;
}

/// `piece` is over, and no longer in a slot.
void FileQueue::end(Piece &piece) {
  if (piece.needsTurn()) {
    const auto turns = busyBlocks.find(piece.cut.begin);
    if (turns->second.empty()) {
      busyBlocks.erase(turns);
    } else {
      ready.push_back(std::move(turns->second.front()));
      turns->second.pop_front();
    }
  }
  close(*piece.batch);
}

/// One thing less to wait for. `batch` may be gone afterwards.
void FileQueue::close(FileBatch &batch) {
  if (--batch.open == 0)
    changed.notify_all();
}

static const char *adviceOn(int reason) {
  switch (reason) {
  case ENOSPC:
  case EDQUOT:
    return "make room there, or name a folder with more of it";
  case EIO:
    return "the disk may be failing, the kernel's log (dmesg) has more; name a "
           "folder on another one";
  case EPERM:
  case EACCES:
    return "the system forbids it: see to the folder's rights and to the "
           "profile of the container (seccomp)";
  case ENOMEM:
    return "this machine lacks memory for it: use a smaller block_size or "
           "queue_depth";
  default:
    return "see to the disk, or name a folder on another one";
  }
}

/// `reason` is an errno, or 0 where nothing was moved for no reason.
void FileQueue::fail(const Piece &piece, int reason) {
  const std::string what = reason                   ? std::strerror(reason)
                           : piece.transfer.isWrite ? "nothing was written"
                                                    : "the file ends there";
  fail(piece, piece.cut.begin + piece.done, piece.cut.length - piece.done,
       what + ": " + adviceOn(reason));
}

void FileQueue::fail(const Piece &piece, uint64_t offset, uint64_t bytes,
                     const std::string &why) {
  if (piece.batch->failure.empty())
    piece.batch->failure = file.path() + ": " +
                           (piece.transfer.isWrite ? "writing " : "reading ") +
                           std::to_string(bytes) + " bytes at " +
                           std::to_string(offset) + ": " + why;
}
