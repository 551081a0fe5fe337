// What all host kernels share: checks of the spec and dispatch on the type.
#ifndef ZERO_RUNTIME_KERNELS_HOST_HOST_H
#define ZERO_RUNTIME_KERNELS_HOST_HOST_H

#include "kernels/Registry.h"
#include "program/Float16.h"

#include <string>

namespace zrt::host {

/// Throws std::invalid_argument: "kernel 'nn.linear': " and `why`.
[[noreturn]] void refuse(const KernelSpec &spec, const std::string &why);

/// Refuses `spec` unless it has this many operands and results.
void wantBuffers(const KernelSpec &spec, size_t operands, size_t results);

/// Refuses `spec` unless `type` has `shape` and is of `element` type.
void wantType(const KernelSpec &spec, const char *what, const TensorType &type,
              DataType element, const std::vector<int64_t> &shape);

/// "4x256xf32".
std::string describe(const TensorType &type);

/// The product of dims [begin, end) of `type`.
int64_t product(const TensorType &type, size_t begin, size_t end);

/// A tensor seen as rows of its last dimension.
struct Rows {
  int64_t count = 1;
  int64_t width = 1;
};

/// Refuses `spec` where `type` is a scalar.
Rows rowsOf(const KernelSpec &spec, const TensorType &type);

/// Rows [first, last) of a result that "rows" asks for; of `total`, all if it
/// is not there. Refuses `spec` where they are no range of them.
struct RowRange {
  int64_t first = 0;
  int64_t last = 0;
};
RowRange rowRange(const KernelSpec &spec, int64_t total);

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
  if (spec.operands.size() <= operand)
    refuse(spec, "found " + std::to_string(spec.operands.size()) +
                     " operands, wanted more than " + std::to_string(operand));
  return makeForType<K>(spec.operands[operand].type, spec, context);
}

/// The DataType of T.
template <typename T> constexpr DataType typeOf();
template <> constexpr DataType typeOf<float>() { return DataType::F32; }
template <> constexpr DataType typeOf<BFloat16>() { return DataType::BF16; }
template <> constexpr DataType typeOf<Float16>() { return DataType::F16; }

// One function a family of kernels.
void registerLinear(Registry &registry);
void registerLinearGelu(Registry &registry);
void registerAttention(Registry &registry);
void registerLayerNorm(Registry &registry);
void registerRmsNorm(Registry &registry);
void registerSoftmax(Registry &registry);
void registerCrossEntropy(Registry &registry);
void registerEmbedding(Registry &registry);
void registerRotary(Registry &registry);
void registerDropout(Registry &registry);
void registerReduce(Registry &registry);
void registerDataMovement(Registry &registry);
void registerLaunch(Registry &registry);

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_HOST_H
