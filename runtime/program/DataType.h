// Element types that buffers, collectives and kernels know.
#ifndef ZERO_RUNTIME_PROGRAM_DATATYPE_H
#define ZERO_RUNTIME_PROGRAM_DATATYPE_H

#include <cstddef>
#include <cstdint>

namespace zrt {

/// An element type. The numbers are part of the program format: append only.
enum class DataType : uint8_t {
  F32 = 0,
  F16 = 1,
  BF16 = 2,
  F64 = 3,
  I1 = 4, ///< one byte an element, 0 or 1
  I8 = 5,
  I32 = 6,
  I64 = 7,
  U16 = 8,
};

inline constexpr int kDataTypeCount = 9;

/// Bytes of one element.
constexpr size_t sizeOf(DataType type) {
  constexpr size_t bytes[kDataTypeCount] = {4, 2, 2, 8, 1, 1, 4, 8, 2};
  return bytes[static_cast<int>(type)];
}

/// The type's spelling in MLIR: `f32`, `bf16`, `i32`.
constexpr const char *nameOf(DataType type) {
  constexpr const char *names[kDataTypeCount] = {
      "f32", "f16", "bf16", "f64", "i1", "i8", "i32", "i64", "ui16"};
  return names[static_cast<int>(type)];
}

constexpr bool isFloat(DataType type) {
  return type == DataType::F32 || type == DataType::F16 ||
         type == DataType::BF16 || type == DataType::F64;
}

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_DATATYPE_H
