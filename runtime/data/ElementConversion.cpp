#include "data/ElementConversion.h"

#include "program/Float16.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

using namespace zrt;

namespace {

enum class Family { Float, Integer, Other };

Family familyOf(TensorDataType type) {
  switch (type) {
  case TensorDataType::F16:
  case TensorDataType::BF16:
  case TensorDataType::F32:
  case TensorDataType::F64:
    return Family::Float;
  case TensorDataType::U8:
  case TensorDataType::I8:
  case TensorDataType::I16:
  case TensorDataType::U16:
  case TensorDataType::I32:
  case TensorDataType::U32:
  case TensorDataType::I64:
  case TensorDataType::U64:
  case TensorDataType::Bool:
    return Family::Integer;
  case TensorDataType::F8E5M2:
  case TensorDataType::F8E4M3:
    break;
  }
  return Family::Other;
}

template <typename T> T at(const void *data, uint64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T),
              sizeof(T));
  return value;
}

template <typename T> void put(void *data, uint64_t index, T value) {
  std::memcpy(static_cast<char *>(data) + index * sizeof(T), &value, sizeof(T));
}

double readFloat(TensorDataType type, const void *data, uint64_t index) {
  switch (type) {
  case TensorDataType::F16:
    return f16ToF32(at<uint16_t>(data, index));
  case TensorDataType::BF16:
    return bf16ToF32(at<uint16_t>(data, index));
  case TensorDataType::F32:
    return at<float>(data, index);
  default:
    return at<double>(data, index);
  }
}

/// The value, or -1 with `large` set where it is beyond 63 bits.
int64_t readInteger(TensorDataType type, const void *data, uint64_t index,
                    bool &large) {
  switch (type) {
  case TensorDataType::I8:
    return at<int8_t>(data, index);
  case TensorDataType::I16:
    return at<int16_t>(data, index);
  case TensorDataType::U16:
    return at<uint16_t>(data, index);
  case TensorDataType::I32:
    return at<int32_t>(data, index);
  case TensorDataType::U32:
    return at<uint32_t>(data, index);
  case TensorDataType::I64:
    return at<int64_t>(data, index);
  case TensorDataType::U64:
    large = at<uint64_t>(data, index) > uint64_t(INT64_MAX);
    return large ? -1 : int64_t(at<uint64_t>(data, index));
  default: // U8, Bool
    return at<uint8_t>(data, index);
  }
}

/// False where a finite value becomes infinite.
bool writeFloat(DataType type, void *data, uint64_t index, double value) {
  const float narrow = float(value);
  double written = narrow;
  if (type == DataType::F16) {
    const uint16_t bits = f32ToF16(narrow);
    put(data, index, bits);
    written = f16ToF32(bits);
  } else if (type == DataType::BF16) {
    const uint16_t bits = f32ToBf16(narrow);
    put(data, index, bits);
    written = bf16ToF32(bits);
  } else if (type == DataType::F32) {
    put(data, index, narrow);
  } else {
    put(data, index, value);
    return true;
  }
  return !std::isfinite(value) || std::isfinite(written);
}

template <typename T>
bool putInRange(void *data, uint64_t index, int64_t value) {
  if (value < int64_t(std::numeric_limits<T>::min()) ||
      value > int64_t(std::numeric_limits<T>::max()))
    return false;
  put(data, index, T(value));
  return true;
}

bool writeInteger(DataType type, void *data, uint64_t index, int64_t value) {
  switch (type) {
  case DataType::I1:
    put(data, index, uint8_t(value));
    return value == 0 || value == 1;
  case DataType::I8:
    return putInRange<int8_t>(data, index, value);
  case DataType::U16:
    return putInRange<uint16_t>(data, index, value);
  case DataType::I32:
    return putInRange<int32_t>(data, index, value);
  default:
    return putInRange<int64_t>(data, index, value);
  }
}

/// Whether both types have the same representation.
bool isSame(TensorDataType from, DataType to) {
  switch (to) {
  case DataType::F32:
    return from == TensorDataType::F32;
  case DataType::F16:
    return from == TensorDataType::F16;
  case DataType::BF16:
    return from == TensorDataType::BF16;
  case DataType::F64:
    return from == TensorDataType::F64;
  case DataType::I32:
    return from == TensorDataType::I32;
  case DataType::I64:
    return from == TensorDataType::I64;
  case DataType::I8:
    return from == TensorDataType::I8;
  case DataType::U16:
    return from == TensorDataType::U16;
  case DataType::I1:
    break; // a byte of Bool may be neither 0 nor 1
  }
  return false;
}

std::string describe(const std::string &value, uint64_t element, DataType to) {
  return value + " at its element " + std::to_string(element) +
         ", which does not fit " + nameOf(to);
}

std::string textOf(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

} // namespace

bool zrt::canConvert(TensorDataType from, DataType to) {
  return familyOf(from) == (isFloat(to) ? Family::Float : Family::Integer);
}

std::string zrt::convertElements(TensorDataType from, const void *source,
                                 DataType to, void *target, uint64_t count) {
  if (isSame(from, to)) {
    std::memcpy(target, source, count * sizeOf(from));
    return "";
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (isFloat(to)) {
      const double value = readFloat(from, source, i);
      if (!writeFloat(to, target, i, value))
        return describe(textOf(value), i, to);
      continue;
    }
    bool large = false;
    const int64_t value = readInteger(from, source, i, large);
    if (large || !writeInteger(to, target, i, value))
      return describe(large ? std::to_string(at<uint64_t>(source, i))
                            : std::to_string(value),
                      i, to);
  }
  return "";
}
