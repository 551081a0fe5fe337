// Runs a kernel on made-up arrays and compares it with a reference in f64.
#ifndef ZERO_TEST_RUNTIME_KERNELS_KERNELTEST_H
#define ZERO_TEST_RUNTIME_KERNELS_KERNELTEST_H

#include "kernels/Registry.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace zrt::test {

/// A tensor in memory, 64-byte aligned as an arena is.
class Array {
public:
  Array(DataType type, std::vector<int64_t> shape);

  TensorType type;
  void *data() { return storage.data() + shift; }
  const void *data() const { return storage.data() + shift; }
  size_t bytes() const { return type.bytes(); }
  int64_t size() const { return type.elements(); }
  /// The element as f64; integers too.
  double operator[](int64_t i) const;
  /// Rounds `value` to the element's type.
  void set(int64_t i, double value);
  bool operator==(const Array &other) const;
  Array(const Array &other);
  Array &operator=(const Array &other);

private:
  void allocate();
  std::vector<char> storage;
  size_t shift = 0;
};

/// Values in [-1, 1) that follow from `seed`, scaled, rounded to `type`.
Array randomArray(DataType type, std::vector<int64_t> shape, uint64_t seed,
                  double scale = 1);
/// Integers in [0, bound).
Array randomIds(std::vector<int64_t> shape, int64_t bound, uint64_t seed);

/// A reference: computes all results, in f64, from the inputs as they are.
using Reference =
    std::function<std::vector<std::vector<double>>(const std::vector<Array> &)>;

struct Setting {
  int threads = 1;
  int rank = 0, ranks = 1;
  Control *control = nullptr;
  const GeneratedKernel *generated = nullptr;
  int64_t generatedCount = 0;
};

/// `spec` with the operand types of `inputs`.
KernelSpec makeSpec(const std::string &name, const std::vector<Array> &inputs,
                    const std::vector<TensorType> &results);

/// Makes the kernel and runs it once on results that start as NaN patterns and
/// a workspace of exactly the size that it asks for, with guards behind both.
std::vector<Array> runKernel(const KernelSpec &spec,
                             const std::vector<Array> &inputs,
                             const Setting &setting = {});

/// The same, once, with `result` in the memory of a copy of `operand`, which
/// has as many bytes.
std::vector<Array> runKernelInPlace(const KernelSpec &spec,
                                    const std::vector<Array> &inputs,
                                    size_t result, size_t operand,
                                    const Setting &setting = {});

/// Runs with 1, 2 and 3 threads where kernels have any; expects bitwise equal
/// results, no allocation in `run`, and every element within tolerance *
/// (|reference| + the largest |reference| of the result * 0.05 + floor).
std::vector<Array> checkKernel(const KernelSpec &spec,
                               const std::vector<Array> &inputs,
                               const Reference &reference, double tolerance,
                               Setting setting = {});

/// What one rounding to `type` and sums in f32 leave: 2e-5 for f32, 1e-2 for
/// bf16, 2e-3 for f16, relative.
double toleranceOf(DataType type);

/// The types that every kernel has code for.
inline const DataType kFloats[] = {DataType::F32, DataType::BF16,
                                   DataType::F16};

/// Calls of operator new while `body` runs, from this program and from the
/// libraries that it loads.
struct Allocations {
  int64_t own = 0, libraries = 0;
};
Allocations countAllocations(const std::function<void()> &body);

} // namespace zrt::test

#endif // ZERO_TEST_RUNTIME_KERNELS_KERNELTEST_H
