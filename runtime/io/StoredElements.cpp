#include "io/StoredElements.h"

#include "program/Float16.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <stdexcept>

using namespace zrt;

[[noreturn]] static void refuse(DataType type) {
  throw std::runtime_error(std::string("a parameter of type ") + nameOf(type) +
                           " cannot be set; wanted f32, f16 or bf16");
}

/// Nearest, ties away from zero; the master is then the bf16 value plus a
/// remainder of 16 bits.
static uint16_t roundHalfAway(float value) {
  uint32_t bits = bitsOf(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x8000u) >> 16);
}

void zrt::storeElements(DataType type, bool followsMaster, const float *values,
                        void *out, uint64_t count) {
  auto convert = [&](auto rounded) {
    std::transform(values, values + count, static_cast<uint16_t *>(out),
                   rounded);
  };
  if (count == 0)
    return;
  if (type == DataType::F32)
    std::memcpy(out, values, count * sizeof(float));
  else if (type == DataType::U16)
    convert([](float value) { return static_cast<uint16_t>(bitsOf(value)); });
  else if (type == DataType::F16)
    convert([](float value) { return f32ToF16(value); });
  else if (type == DataType::BF16 && followsMaster)
    convert(roundHalfAway);
  else if (type == DataType::BF16)
    convert([](float value) { return f32ToBf16(value); });
  else
    refuse(type);
}

void zrt::loadElements(DataType type, const void *from, float *values,
                       uint64_t count) {
  if (count == 0)
    return;
  auto convert = [&](auto widened) {
    auto *halves = static_cast<const uint16_t *>(from);
    std::transform(halves, halves + count, values, widened);
  };
  if (type == DataType::F32)
    std::memcpy(values, from, count * sizeof(float));
  else if (type == DataType::F16)
    convert([](uint16_t bits) { return f16ToF32(bits); });
  else if (type == DataType::BF16)
    convert([](uint16_t bits) { return bf16ToF32(bits); });
  else
    refuse(type);
}

/// The largest finite value of a type that is stored.
static float largestOf(DataType type) {
  if (type == DataType::F16)
    return 65504;
  if (type == DataType::BF16)
    return 0x1.fep127f;
  return std::numeric_limits<float>::max();
}

void zrt::checkRange(const std::string &where, const std::string &what,
                     DataType type, uint64_t element, const float *values,
                     uint64_t count) {
  if (type != DataType::F16 && type != DataType::BF16)
    return;
  uint16_t bits;
  float stored;
  for (uint64_t i = 0; i < count; ++i) {
    if (!std::isfinite(values[i]) || std::fabs(values[i]) <= largestOf(type))
      continue;
    storeElements(type, false, values + i, &bits, 1);
    loadElements(type, &bits, &stored, 1);
    if (std::isfinite(stored))
      continue; // it is rounded down
    std::ostringstream text;
    text << where << "element " << element + i << " of " << what << " is "
         << values[i] << ", which is too large for " << nameOf(type)
         << ", the type that this program stores: its largest value is "
         << largestOf(type);
    throw std::range_error(text.str());
  }
}

void zrt::joinRemainder(const uint16_t *remainder, float *values,
                        uint64_t count) {
  for (uint64_t i = 0; i < count; ++i)
    values[i] = floatOf(bitsOf(values[i]) +
                        static_cast<uint32_t>(int32_t(int16_t(remainder[i]))));
}
