// Memory in files: what the tier `file` of a rank is.
#ifndef ZERO_RUNTIME_FILES_FILEMEMORY_H
#define ZERO_RUNTIME_FILES_FILEMEMORY_H

#include "files/FileQueue.h"
#include "injection/Faults.h"
#include "state/Arenas.h"

#include <functional>

namespace zrt {

/// Why the host's memory cannot have all that a rank would have in files; ""
/// where it can.
using HostRoom = std::function<std::string()>;

/// Memory in one file of a rank. Its addresses stand for places in the file:
/// nothing can be loaded from them, and an attempt ends the process.
///
/// What comes back is what was written, or an error: see BlockDigests.
///
/// One thread at a time allocates and releases, while no other does anything.
/// All else may be called by any thread.
class FileMemory final : public Memory {
public:
  /// Throws std::runtime_error, naming the folder or the setting, where no file
  /// can be made there, or a setting is out of its range.
  FileMemory(const FileSettings &settings, int rank);
  /// Uses an engine of the caller, for at least `queueDepth` transfers.
  FileMemory(const FileSettings &settings, int rank,
             std::unique_ptr<FileEngine> engine);
  /// Waits for what is in flight, and drops what is not yet.
  ~FileMemory() override;

  /// Where the folder has not the space for what is allocated, and nothing was
  /// moved yet, all of it stays in host memory instead, if `room` has it.
  /// Without this, or where there is none, that is an error.
  void setHostRoom(HostRoom room) { hostRoom = std::move(room); }
  /// For people: what stays in host memory, how many bytes, and why; "" where
  /// everything is in files.
  std::string describeHeld() const;

  void *allocate(uint64_t bytes, const char *what) override;
  /// Waits for everything that was started.
  void release(void *address) override;
  /// These wait for everything that was started before, whose failures remain
  /// for `wait`. They throw as `wait` does.
  void write(void *to, const void *from, size_t bytes) override;
  void read(void *to, const void *from, size_t bytes) override;

  /// Whether `address` stands for a place in the file.
  bool holds(const void *address) const;

  /// Both return at once. `ticket` is a small number, which several may share.
  /// The host's memory must not be touched, nor read where it is read into,
  /// until `wait(ticket)`. What is in flight together must not overlap in the
  /// file where any of it is written; sharing a block of the file is no matter,
  /// but costs time. Fast where the place in the file and the address of the
  /// host's memory are multiples of 4,096.
  void startRead(uint32_t ticket, void *to, const void *from, size_t bytes);
  void startWrite(uint32_t ticket, void *to, const void *from, size_t bytes);
  /// Returns when all that was started with `ticket` is over; at once where
  /// nothing was. Throws std::runtime_error with what failed first of it; the
  /// ticket is free then, too, and the others are not concerned.
  void wait(uint32_t ticket);
  /// Drops ranges that nothing was begun of, and waits for the rest: before
  /// memory of the host goes away that reads or writes use, when something has
  /// failed.
  void abandon();

  FileTraffic traffic() const { return queue.traffic(); }
  /// For reports, in one line: the folder, what transfers are like, how they
  /// are made and, where it is not by io_uring and O_DIRECT, why.
  std::string describe() const;

private:
  /// Bytes of the file, and the addresses that stand for them.
  struct Region {
    std::string name;
    uint64_t offset = 0;
    uint64_t bytes = 0;
    uint64_t room = 0; ///< in the file: whole blocks
  };
  using Regions = std::map<const char *, Region>;

  Regions::const_iterator regionOf(const void *address) const;
  uint64_t placeOf(const void *address, size_t bytes) const;
  FileRange rangeOf(bool isWrite, const void *inFile, const void *memory,
                    size_t bytes) const;
  void grow(uint64_t bytes, const char *what);
  void moveToMemory(uint64_t bytes, const char *what, const NoSpaceError &why);
  void moveNow(const FileRange &range);
  FileBatch &batchOf(uint32_t ticket);

  const FileSettings settings;
  RankFile file;
  BlockDigests digests; ///< of the file
  Regions regions;
  uint64_t end = 0; ///< of the last region
  mutable std::mutex mutex;
  std::map<uint32_t, FileBatch> batches;
  HostRoom hostRoom;
  std::string whyHeld; ///< in host memory; empty: it is not
  FileQueue queue;     ///< last: its engine's threads use the others
};

/// The file of `rank`, where `program` keeps something in files; null where it
/// does not. In `folder`, or where that is empty as the program says, or in
/// host memory as `room` has it. `faults` happen to its transfers. Throws as
/// the constructor.
std::unique_ptr<FileMemory> makeFileMemory(const Program &program,
                                           const std::string &folder, int rank,
                                           Faults *faults = nullptr,
                                           HostRoom room = nullptr);

/// Says what of `rank` stays in host memory, where something does.
void tellHeld(const FileMemory *files, int rank,
              const std::function<void(const std::string &)> &tell);

} // namespace zrt

#endif // ZERO_RUNTIME_FILES_FILEMEMORY_H
