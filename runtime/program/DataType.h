// Element types that buffers, collectives and kernels know.
#ifndef ZERO_RUNTIME_PROGRAM_DATATYPE_H
#define ZERO_RUNTIME_PROGRAM_DATATYPE_H

#include "program/Enums.h"

#include <cstddef>
#include <cstdint>

namespace zrt {

/// Bytes of one element.
constexpr size_t sizeOf(DataType type) {
  constexpr size_t bytes[kCountOf<DataType>] = {4, 2, 2, 8, 1, 1, 4, 8, 2};
  return bytes[static_cast<int>(type)];
}

constexpr bool isFloat(DataType type) {
  return type == DataType::F32 || type == DataType::F16 ||
         type == DataType::BF16 || type == DataType::F64;
}

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_DATATYPE_H
