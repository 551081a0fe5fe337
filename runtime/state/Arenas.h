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

/// The arenas of one rank in host memory, as large as the program says, each
/// beginning at a page (4,096 bytes). Ranks of one process have one each.
class Arenas {
public:
  /// Throws std::runtime_error, naming the arena, its bytes and the reason,
  /// where the memory cannot be had. With `hugePages`, arenas of 2 MiB and
  /// more ask for huge pages.
  explicit Arenas(const Program &program, bool hugePages = false);

  /// The address of `buffer` on rank `rank`. Throws std::out_of_range, naming
  /// the arena, where the buffer leaves it.
  void *resolve(const BufferRef &buffer, int rank) const;

  uint64_t bytes(Arena arena) const {
    return mappings[static_cast<int>(arena)].size();
  }
  /// The arenas' first bytes; null where an arena is empty.
  std::array<void *, kArenaCount> addresses() const;

  /// The control block: the first bytes of its arena, which there always is.
  Control &control() const;

private:
  std::array<Mapping, kArenaCount> mappings;
};

} // namespace zrt

#endif // ZERO_RUNTIME_STATE_ARENAS_H
