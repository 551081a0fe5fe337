// nn.random_normal, nn.random_uniform and nn.random_integers on a device, as
// the host's kernels draw them.
#include "kernels/Registry.h"
#include "kernels/cuda/Context.h"
#include "kernels/cuda/Device.cuh"
#include "kernels/cuda/Indices.cuh"
#include "kernels/shapes/TensorShapes.h"
#include "kernels/shapes/UniformDraws.h"

namespace zrt::cuda {

namespace {

/// What is drawn, and for which samples.
struct Drawn {
  int64_t samples, elements; ///< elements of a sample
  uint32_t id;
  int rank, ranks;
  const Control *control;

  Drawn(const KernelSpec &spec, const KernelContext &context)
      : samples(spec.results[0].shape[0]),
        elements(product(spec.results[0], 1, spec.results[0].shape.size())),
        id(uint32_t(spec.integer("id"))), rank(int(context.sampleIndex)),
        ranks(int(context.sampleRanks)), control(context.control) {}

  __host__ __device__ int64_t counters() const { return (elements + 3) / 4; }
};

/// A thread makes the four elements of a counter: form(first, second, to) makes
/// two of two words.
template <typename T, typename Form>
__global__ void randomNumbersKernel(Drawn a, Form form, T *y) {
  const uint64_t firstSample =
      (a.control->batch * a.ranks + a.rank) * a.samples;
  const uint64_t seed = a.control->seed;
  const int64_t counters = a.counters();
  const int64_t total = a.samples * counters;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
       i += int64_t(gridDim.x) * blockDim.x) {
    const int64_t sample = i / counters, counter = i % counters;
    const uint64_t global = firstSample + sample;
    uint32_t words[4] = {uint32_t(counter), a.id, uint32_t(global),
                         uint32_t(global >> 32)};
    philox(words, seed);
    T numbers[4];
    form(words[0], words[1], numbers);
    form(words[2], words[3], numbers + 2);
    for (int lane = 0; lane < 4; ++lane)
      if (counter * 4 + lane < a.elements)
        y[sample * a.elements + counter * 4 + lane] = numbers[lane];
  }
}

/// Starts it; `y` has the elements of `drawn`.
template <typename T, typename Form>
void drawNumbers(const Drawn &drawn, Form form, void *y, cudaStream_t stream) {
  constexpr int kThreads = 256;
  const int64_t total = drawn.samples * drawn.counters();
  if (!total)
    return;
  randomNumbersKernel<T, Form>
      <<<blocksFor(total, kThreads), kThreads, 0, stream>>>(
          drawn, form, static_cast<T *>(y));
}

/// Box and Muller's method: the arithmetic of the host's kernel.
template <typename T> struct TwoNormals {
  __device__ void operator()(uint32_t first, uint32_t second, T *to) const {
    const float share = float((double(first) + 1) * 0x1p-32);
    const float angle = float(double(second) * (6.283185307179586 * 0x1p-32));
    const float radius = sqrtf(-2 * logf(share));
    to[0] = fromFloat<T>(radius * cosf(angle));
    to[1] = fromFloat<T>(radius * sinf(angle));
  }
};

class RandomNormal final : public Kernel {
public:
  RandomNormal(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), type(spec.results[0].type),
        drawn(spec, context) {}

  void run(void *const *b, void *) override {
    withType(type, [&](auto element) {
      using T = decltype(element);
      drawNumbers<T>(drawn, TwoNormals<T>{}, b[0], stream);
    });
    checkLaunch("random_normal");
  }

private:
  cudaStream_t stream;
  DataType type;
  Drawn drawn;
};

template <typename T> struct TwoShares {
  int bits;

  __device__ void operator()(uint32_t first, uint32_t second, T *to) const {
    to[0] = fromFloat<T>(shareOf(first, bits));
    to[1] = fromFloat<T>(shareOf(second, bits));
  }
};

struct TwoIntegers {
  uint32_t below;

  __device__ void operator()(uint32_t first, uint32_t second,
                             int32_t *to) const {
    to[0] = integerOf(first, below);
    to[1] = integerOf(second, below);
  }
};

class RandomUniform final : public Kernel {
public:
  RandomUniform(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), type(spec.results[0].type),
        drawn(spec, context) {}

  void run(void *const *b, void *) override {
    withType(type, [&](auto element) {
      using T = decltype(element);
      drawNumbers<T>(drawn, TwoShares<T>{digitsOf(type)}, b[0], stream);
    });
    checkLaunch("random_uniform");
  }

private:
  cudaStream_t stream;
  DataType type;
  Drawn drawn;
};

class RandomIntegers final : public Kernel {
public:
  RandomIntegers(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), drawn(spec, context),
        form{uint32_t(spec.integer("below"))} {}

  void run(void *const *b, void *) override {
    drawNumbers<int32_t>(drawn, form, b[0], stream);
    checkLaunch("random_integers");
  }

private:
  cudaStream_t stream;
  Drawn drawn;
  TwoIntegers form;
};

} // namespace

void registerRandomNumbers(Registry &registry) {
  registry.add("nn.random_normal", makeKernel<RandomNormal>);
  registry.add("nn.random_uniform", makeKernel<RandomUniform>);
  registry.add("nn.random_integers", makeKernel<RandomIntegers>);
}

} // namespace zrt::cuda
