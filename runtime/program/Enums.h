// Enumerations that programs are made of, with their names; they are written
// down in include/zero/Dialect/Zero/SharedEnums.td.
#ifndef ZERO_RUNTIME_PROGRAM_ENUMS_H
#define ZERO_RUNTIME_PROGRAM_ENUMS_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace zrt {

/// The number of cases of the enumeration `E`, which are numbered from 0 on.
template <typename E> inline constexpr int kCountOf = -1;

#include "program/Enums.h.inc"

/// The memory of one arena in one tier: those of the device come first, so
/// that the number of an arena is that of its memory there.
inline constexpr int kSpaceCount = kCountOf<Arena> * kCountOf<Tier>;
constexpr int spaceOf(Arena arena, Tier tier) {
  return static_cast<int>(tier) * kCountOf<Arena> + static_cast<int>(arena);
}
constexpr Tier tierOf(int space) {
  return static_cast<Tier>(space / kCountOf<Arena>);
}
constexpr Arena arenaOf(int space) {
  return static_cast<Arena>(space % kCountOf<Arena>);
}

/// The case of `E` that is called `name`.
template <typename E> std::optional<E> findByName(std::string_view name) {
  static_assert(kCountOf<E> > 0, "an enumeration without a count");
  for (int i = 0; i < kCountOf<E>; ++i)
    if (name == nameOf(static_cast<E>(i)))
      return static_cast<E>(i);
  return std::nullopt;
}

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_ENUMS_H
