// What all host kernels share: pieces of work, and dispatch on the type.
#ifndef ZERO_RUNTIME_KERNELS_HOST_HOST_H
#define ZERO_RUNTIME_KERNELS_HOST_HOST_H

#include "kernels/Registry.h"
#include "kernels/shapes/TensorShapes.h"
#include "program/Float16.h"

#include <string>

namespace zrt::host {

/// `value` rounded up to a multiple of 64: no two workers share a cache line.
constexpr size_t padded(size_t value) { return (value + 63) / 64 * 64; }

/// Rows that are worth a thread when each has `width` elements.
inline int64_t rowGrain(int64_t width) {
  constexpr int64_t worthwhile = 16384;
  return worthwhile / (width + 1) + 1;
}

/// Makes a K<float>, K<BFloat16> or K<Float16>, whichever `type` says.
template <template <typename> class K>
std::unique_ptr<Kernel> makeForType(DataType type, const KernelSpec &spec,
                                    const KernelContext &context) {
  switch (type) {
  case DataType::F32:
    return std::make_unique<K<float>>(spec, context);
  case DataType::BF16:
    return std::make_unique<K<BFloat16>>(spec, context);
  case DataType::F16:
    return std::make_unique<K<Float16>>(spec, context);
  default:
    refuse(spec, std::string("no code for element type ") + nameOf(type) +
                     "; wanted f32, bf16 or f16");
  }
}

/// The same, by the type of the spec's operand number `operand`.
template <template <typename> class K, size_t operand = 0>
std::unique_ptr<Kernel> makeByOperand(const KernelSpec &spec,
                                      const KernelContext &context) {
  return makeForType<K>(spec.operands[operand].type, spec, context);
}

/// The DataType of T.
template <typename T> constexpr DataType typeOf();
template <> constexpr DataType typeOf<float>() { return DataType::F32; }
template <> constexpr DataType typeOf<BFloat16>() { return DataType::BF16; }
template <> constexpr DataType typeOf<Float16>() { return DataType::F16; }

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_HOST_H
