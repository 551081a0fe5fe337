// Enumerations that programs are made of, with their names; they are written
// down in include/zero/Dialect/RuntimeEnums.td.
#ifndef ZERO_RUNTIME_PROGRAM_ENUMS_H
#define ZERO_RUNTIME_PROGRAM_ENUMS_H

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace zrt {

/// The cases of the enumeration `E` in their order; they are numbered from 0
/// on.
template <typename E> inline constexpr std::array<E, 0> kCasesOf = {};
template <typename E>
inline constexpr int kCountOf = static_cast<int>(kCasesOf<E>.size());

#include "program/Enums.h.inc"

/// The memory of one arena in one tier: those of the device come first, so
/// that the number of an arena is that of its memory there.
inline constexpr int kSpaceCount = kCountOf<Arena> * kCountOf<Tier>;
constexpr int spaceOf(Arena arena, Tier tier) {
  return static_cast<int>(tier) * kCountOf<Arena> + static_cast<int>(arena);
}
constexpr Tier tierOf(int space) {
  return kCasesOf<Tier>[space / kCountOf<Arena>];
}
constexpr Arena arenaOf(int space) {
  return kCasesOf<Arena>[space % kCountOf<Arena>];
}

/// The case of `E` that is called `name`.
template <typename E> std::optional<E> findByName(std::string_view name) {
  static_assert(kCountOf<E> > 0, "an enumeration without cases");
  for (E value : kCasesOf<E>)
    if (name == nameOf(value))
      return value;
  return std::nullopt;
}

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_ENUMS_H
