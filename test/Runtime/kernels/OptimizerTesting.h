// One kernel, its control block and program, for the optimizer tests.
#ifndef ZERO_TEST_RUNTIME_KERNELS_OPTIMIZERTESTING_H
#define ZERO_TEST_RUNTIME_KERNELS_OPTIMIZERTESTING_H

#include "KernelUnderTest.h"
#include "kernels/Kernel.h"
#include "program/Float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

namespace zrt::testing {

/// A file of the goldens: where the project is, or in the folder that
/// ZERO_GOLDENS of the environment names.
inline std::string goldenPath(const char *name) {
  const char *folder = std::getenv("ZERO_GOLDENS");
  return std::string(folder ? folder : ZERO_GOLDENS) + "/" + name;
}

/// Flat ranges of `types`, all of `elements`.
inline std::vector<TensorType> flat(int64_t elements,
                                    std::initializer_list<DataType> types) {
  std::vector<TensorType> result;
  for (DataType type : types)
    result.push_back({type, {elements}});
  return result;
}

class Bench {
public:
  explicit Bench(int threads = 1) : pool(threads) {
    program.training.accumulation = 1;
    control.scale = control.factor = control.unscale = 1;
    control.lossSeed = 1;
    control.finite = 1;
    control.lastOverflow = -1;
  }

  std::unique_ptr<Kernel> make(const KernelSpec &spec) {
    KernelContext context;
    context.pool = &pool;
    context.control = &control;
    context.program = &program;
    return test::makeKernelUnderTest(spec, context);
  }

  void run(const KernelSpec &spec, std::vector<void *> buffers = {}) {
    std::unique_ptr<Kernel> kernel = make(spec);
    std::vector<char> workspace(kernel->workspaceBytes());
    kernel->run(buffers.data(), workspace.data());
  }

  ThreadPool pool;
  Program program;
  Control control = {};
};

/// Values as the type holds them: the storage of a buffer.
class Values {
public:
  Values(DataType type, size_t elements)
      : type(type), bytes(elements * sizeOf(type)) {}

  void *data() { return bytes.data(); }
  size_t size() const { return bytes.size() / sizeOf(type); }

  float get(size_t i) const {
    if (type == DataType::F32) {
      float value;
      std::memcpy(&value, &bytes[4 * i], 4);
      return value;
    }
    uint16_t bits = raw16(i);
    return type == DataType::F16 ? f16ToF32(bits) : bf16ToF32(bits);
  }
  void set(size_t i, float value) {
    if (type == DataType::F32) {
      std::memcpy(&bytes[4 * i], &value, 4);
      return;
    }
    uint16_t bits = type == DataType::F16 ? f32ToF16(value) : f32ToBf16(value);
    std::memcpy(&bytes[2 * i], &bits, 2);
  }
  void setRaw16(size_t i, uint32_t bits) {
    auto half = static_cast<uint16_t>(bits);
    std::memcpy(&bytes[2 * i], &half, 2);
  }
  uint16_t raw16(size_t i) const {
    uint16_t bits;
    std::memcpy(&bits, &bytes[2 * i], 2);
    return bits;
  }
  /// The address of element `i`.
  void *at(size_t i) { return &bytes[i * sizeOf(type)]; }

  /// Normal values times `scale`.
  void randomize(std::mt19937 &generator, float scale, float offset = 0) {
    std::normal_distribution<float> normal;
    for (size_t i = 0; i < size(); ++i)
      set(i, normal(generator) * scale + offset);
  }
  bool operator==(const Values &other) const { return bytes == other.bytes; }

  DataType type;
  std::vector<char> bytes;
};

} // namespace zrt::testing

#endif // ZERO_TEST_RUNTIME_KERNELS_OPTIMIZERTESTING_H
