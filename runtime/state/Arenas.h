// The memory of one rank: each arena is allocated once.
#ifndef ZERO_RUNTIME_STATE_ARENAS_H
#define ZERO_RUNTIME_STATE_ARENAS_H

#include "program/Control.h"
#include "program/Program.h"

#include <array>

namespace zrt {

/// Zero-filled anonymous memory. Pages that nobody touches cost nothing.
class Mapping {
public:
  Mapping() = default;
  /// `bytes` may be 0. Throws std::runtime_error with the reason, where there
  /// is not that much memory.
  Mapping(uint64_t bytes, bool hugePages, const char *what);
  Mapping(Mapping &&other) noexcept;
  Mapping &operator=(Mapping &&other) noexcept;
  ~Mapping();

  void *data() const { return address; }
  uint64_t size() const { return bytes; }

private:
  void *address = nullptr;
  uint64_t bytes = 0;
};

/// Memory that the host cannot touch: a device's.
class Memory {
public:
  virtual ~Memory();
  /// `bytes` (not 0) of zeros, beginning at a multiple of 4,096. Throws
  /// std::runtime_error, naming `what`, where there is not that much.
  virtual void *allocate(uint64_t bytes, const char *what) = 0;
  /// As `allocate`, for memory that is written before it is read: it may hold
  /// no zeros, so that a tool can find reads of memory that nobody wrote.
  virtual void *allocateScratch(uint64_t bytes, const char *what) {
    return allocate(bytes, what);
  }
  virtual void release(void *address) = 0;
  /// Both return when the host's bytes may be reused or read; what was queued
  /// before is done by then.
  virtual void write(void *to, const void *from, size_t bytes) = 0;
  virtual void read(void *to, const void *from, size_t bytes) = 0;
};

/// The arenas of one rank, as large as the program says, each beginning at a
/// page (4,096 bytes), and one for each tier that it has bytes in. Ranks of one
/// process have one each.
class Arenas {
public:
  /// The tiers of device and host in the process's memory, each arena by
  /// itself; that of files in `files`, which must outlive them. Throws
  /// std::runtime_error, naming the arena, its bytes and the reason, where the
  /// memory cannot be had or there is none of that tier. With `hugePages`,
  /// arenas of 2 MiB and more ask for huge pages.
  explicit Arenas(const Program &program, bool hugePages = false,
                  Memory *files = nullptr);
  /// The device's in `memory`; those that collectives read or write in `links`,
  /// where that is not null; the host's in `pinned`, those in files in `files`.
  /// All must outlive them.
  Arenas(const Program &program, Memory &memory, Memory *links, Memory *pinned,
         Memory *files = nullptr);
  Arenas(const Arenas &) = delete;
  Arenas &operator=(const Arenas &) = delete;
  ~Arenas();

  /// The address of `buffer` on rank `rank` of all. Throws std::out_of_range,
  /// naming the arena, where the buffer leaves it.
  void *resolve(const BufferRef &buffer, int rank) const;

  uint64_t bytes(Arena arena, Tier tier = Tier::Device) const {
    return sizes[spaceOf(arena, tier)];
  }
  /// The arenas' first bytes, by `spaceOf`; null where an arena is empty.
  std::array<void *, kSpaceCount> addresses() const;

  /// The control block: the first bytes of its arena, which there always is.
  Control &control() const;

  /// Copies into and out of an arena, wherever it lives; `inside` is what
  /// `resolve` gave, or an address after it.
  void write(void *inside, const void *from, size_t bytes) const;
  void read(void *to, const void *inside, size_t bytes) const;

private:
  void release();
  Memory *ownerOf(const void *inside) const;

  Mesh mesh;
  std::array<Mapping, kSpaceCount> mappings; ///< of host memory
  std::array<void *, kSpaceCount> begins = {};
  std::array<uint64_t, kSpaceCount> sizes = {};
  std::array<Memory *, kSpaceCount> owners = {}; ///< null: the process's
};

/// Throws std::runtime_error, naming the arenas and their bytes, where a rank
/// needs more than `limit` bytes of the device tier, `workspace` for kernels
/// included; 0 stands for no limit.
void checkDeviceMemory(const Program &program, uint64_t workspace,
                       uint64_t limit);

} // namespace zrt

#endif // ZERO_RUNTIME_STATE_ARENAS_H
