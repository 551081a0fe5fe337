// nn.random_normal on a device.
#include "kernels/Registry.h"
#include "kernels/cuda/Context.h"
#include "kernels/cuda/Device.cuh"
#include "kernels/cuda/Indices.cuh"
#include "kernels/shapes/TensorShapes.h"

namespace zrt::cuda {

namespace {

constexpr int kThreads = 256;

struct Arguments {
  int64_t samples, elements; ///< elements of a sample
  uint32_t id;
  int rank, ranks;
  const Control *control;
};

/// Box and Muller's method: the arithmetic of the host's kernel.
__device__ inline void twoNormals(uint32_t first, uint32_t second, float *to) {
  const float share = float((double(first) + 1) * 0x1p-32);
  const float angle = float(double(second) * (6.283185307179586 * 0x1p-32));
  const float radius = sqrtf(-2 * logf(share));
  to[0] = radius * cosf(angle);
  to[1] = radius * sinf(angle);
}

/// A thread makes the four elements of a counter.
template <typename T> __global__ void randomNormalKernel(Arguments a, T *y) {
  const uint64_t firstSample =
      (a.control->batch * a.ranks + a.rank) * a.samples;
  const uint64_t seed = a.control->seed;
  const int64_t counters = (a.elements + 3) / 4;
  const int64_t total = a.samples * counters;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < total;
       i += int64_t(gridDim.x) * blockDim.x) {
    const int64_t sample = i / counters, counter = i % counters;
    const uint64_t global = firstSample + sample;
    uint32_t words[4] = {uint32_t(counter), a.id, uint32_t(global),
                         uint32_t(global >> 32)};
    philox(words, seed);
    float normals[4];
    twoNormals(words[0], words[1], normals);
    twoNormals(words[2], words[3], normals + 2);
    for (int lane = 0; lane < 4; ++lane)
      if (counter * 4 + lane < a.elements)
        y[sample * a.elements + counter * 4 + lane] =
            fromFloat<T>(normals[lane]);
  }
}

class RandomNormal final : public Kernel {
public:
  RandomNormal(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), type(spec.results[0].type) {
    const TensorType &y = spec.results[0];
    arguments = {y.shape[0],
                 product(y, 1, y.shape.size()),
                 uint32_t(spec.integer("id")),
                 int(context.sampleIndex),
                 int(context.sampleRanks),
                 context.control};
  }

  void run(void *const *b, void *) override {
    const int64_t total = arguments.samples * ((arguments.elements + 3) / 4);
    if (!total)
      return;
    withType(type, [&](auto element) {
      using T = decltype(element);
      randomNormalKernel<T>
          <<<blocksFor(total, kThreads), kThreads, 0, stream>>>(
              arguments, static_cast<T *>(b[0]));
    });
    checkLaunch("random_normal");
  }

private:
  cudaStream_t stream;
  DataType type;
  Arguments arguments;
};

} // namespace

void registerRandomNormal(Registry &registry) {
  registry.add("nn.random_normal", makeKernel<RandomNormal>);
}

} // namespace zrt::cuda
