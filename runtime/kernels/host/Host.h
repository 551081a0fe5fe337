// What all host kernels share: sizes of the spec and dispatch on the type.
#ifndef ZERO_RUNTIME_KERNELS_HOST_HOST_H
#define ZERO_RUNTIME_KERNELS_HOST_HOST_H

#include "kernels/Registry.h"
#include "program/Float16.h"

#include <string>

namespace zrt::host {

/// The product of dims [begin, end) of `type`.
int64_t product(const TensorType &type, size_t begin, size_t end);

/// A tensor seen as rows of its last dimension.
struct Rows {
  int64_t count = 1;
  int64_t width = 1;
};

/// The rows of `type`, which has a dimension.
Rows rowsOf(const TensorType &type);

/// Rows [first, last) of a result that "rows", or another range, asks for; of
/// `total`, all if it is not there.
struct RowRange {
  int64_t first = 0;
  int64_t last = 0;
};
RowRange rowRange(const KernelSpec &spec, int64_t total,
                  const char *range = "rows");

/// nn.reduce sum of `x` over all but its last dimension.
KernelSpec sumsOverRows(const TensorType &x, const TensorType &sums);

/// The row-major strides of `shape`, in elements.
std::vector<int64_t> stridesOf(const std::vector<int64_t> &shape);

/// `value` rounded up to a multiple of 64: no two workers share a cache line.
constexpr size_t padded(size_t value) { return (value + 63) / 64 * 64; }

/// Rows that are worth a thread when each has `width` elements.
inline int64_t rowGrain(int64_t width) {
  constexpr int64_t worthwhile = 16384;
  return worthwhile / (width + 1) + 1;
}

template <typename T> T *at(void *const *buffers, size_t index) {
  return static_cast<T *>(buffers[index]);
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
