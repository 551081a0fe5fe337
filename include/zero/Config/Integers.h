//===- Integers.h - integers of JSON ----------------------------*- C++ -*-===//
#ifndef ZERO_CONFIG_INTEGERS_H
#define ZERO_CONFIG_INTEGERS_H

#include "llvm/Support/JSON.h"

#include <cstdint>
#include <optional>

namespace mlir::zero {

/// The integer that the value is; nothing where it is none, or beyond 64 bits.
/// LLVM's own takes a double of 2^63, which no `int64_t` holds.
inline std::optional<int64_t> integerOf(const llvm::json::Value &value) {
  const bool isDouble = value.getAsNumber() && !value.getAsUINT64();
  if (isDouble && *value.getAsNumber() >= 0x1p63)
    return std::nullopt;
  return value.getAsInteger();
}

} // namespace mlir::zero

#endif // ZERO_CONFIG_INTEGERS_H
