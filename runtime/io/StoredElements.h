// Conversions between f32 and the types in which elements are stored.
#ifndef ZERO_RUNTIME_IO_STOREDELEMENTS_H
#define ZERO_RUNTIME_IO_STOREDELEMENTS_H

#include "program/DataType.h"

#include <cstdint>
#include <string>

namespace zrt {

/// Elements that are in transit between a file and the arenas at once.
inline constexpr uint64_t kPortion = uint64_t(1) << 18;

/// Converts between f32 and a stored type: f32, f16 or bf16. A bf16 parameter
/// that follows a master is rounded half away from zero, anything else to
/// nearest even. u16, which is stored only, is the lower half of the bits.
void storeElements(DataType type, bool followsMaster, const float *values,
                   void *out, uint64_t count);
void loadElements(DataType type, const void *from, float *values,
                  uint64_t count);

/// Throws std::range_error, which begins with `where` and names `what`, its
/// element and the largest value that there is, where one of `count` values
/// from `element` on is finite and would not be so in `type`.
void checkRange(const std::string &where, const std::string &what,
                DataType type, uint64_t element, const float *values,
                uint64_t count);

/// Makes masters of `count` bf16 values that were rounded half away from zero,
/// given the lower halves of the masters' bits.
void joinRemainder(const uint16_t *remainder, float *values, uint64_t count);

} // namespace zrt

#endif // ZERO_RUNTIME_IO_STOREDELEMENTS_H
