// Names for kernels that machine files and reports key their figures by.
#ifndef ZERO_RUNTIME_PROGRAM_KERNELKEY_H
#define ZERO_RUNTIME_PROGRAM_KERNELKEY_H

#include "program/Program.h"

namespace zrt {

/// What decides how long a kernel takes: name, types, shapes and attributes,
/// such as "nn.linear(f32[8x4],f32[4x2])->(f32[8x2]) bias=0 transposed=1".
/// A generated kernel is known by what it does an element, not by its symbol,
/// so that the same one has the same key in every program.
std::string kernelKeyOf(const KernelSpec &spec);

/// The key without what differs between kernels of one kind that take
/// other sizes: no shapes, no lists.
std::string familyOf(const KernelSpec &spec);

/// The first float type of operands and results, of one with dimensions where
/// there is such a one; F32 where there is none.
DataType computeTypeOf(const KernelSpec &spec);

/// Attributes of an update's kernel, from which its work follows: operations an
/// element, and how often each operand goes through memory.
inline constexpr const char *kOperationsKey = "operations";
inline constexpr const char *kTimesKey = "times";

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_KERNELKEY_H
