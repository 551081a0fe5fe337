// Stored elements as elements of an input.
#ifndef ZERO_RUNTIME_DATA_ELEMENTCONVERSION_H
#define ZERO_RUNTIME_DATA_ELEMENTCONVERSION_H

#include "io/SafeTensors.h"
#include "program/DataType.h"

#include <cstdint>
#include <string>

namespace zrt {

/// True where elements of type `from` can become `to`: floats any float type,
/// integers and bool any integer type.
bool canConvert(TensorDataType from, DataType to);

/// Writes `count` elements of type `from` as `to`. Floats are rounded to
/// nearest, ties to even. Returns an empty string, or says which value does
/// not fit, an integer out of range or a finite float that would become
/// infinite, and where it is.
std::string convertElements(TensorDataType from, const void *source,
                            DataType to, void *target, uint64_t count);

} // namespace zrt

#endif // ZERO_RUNTIME_DATA_ELEMENTCONVERSION_H
