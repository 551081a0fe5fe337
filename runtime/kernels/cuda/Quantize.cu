// zero.quantize and zero.dequantize on a device, with the bits of the host's.
#include "kernels/Registry.h"
#include "kernels/cuda/Context.h"
#include "kernels/cuda/Device.cuh"
#include "program/Quantization.h"

#include <cfloat>

using namespace zrt;
using namespace zrt::cuda;

namespace {

constexpr int kThreads = 256;

/// The scale of a block whose largest magnitude has these bits.
__device__ inline float scaleFor(uint32_t magnitude, int64_t most) {
  const float largest = __uint_as_float(magnitude);
  if (isNonFinite(largest))
    return __uint_as_float(0x7fc00000u);
  return fmaxf(largest / float(most), FLT_MIN);
}

__device__ inline int toInteger(float x, float scale) {
  const float scaled = x / scale;
  return scaled == scaled ? int(rintf(scaled)) : 0;
}

/// A thread block for each block of elements.
template <typename T>
__global__ void quantizeKernel(const T *from, int64_t elements,
                               Quantization how, char *to) {
  __shared__ uint32_t largest;
  float *scales = reinterpret_cast<float *>(to + how.scalesAt(elements));
  for (int64_t block = blockIdx.x; block < how.blocks(elements);
       block += gridDim.x) {
    const int64_t first = block * how.block;
    const int64_t count =
        elements - first < how.block ? elements - first : how.block;
    if (threadIdx.x == 0)
      largest = 0;
    __syncthreads();
    uint32_t own = 0;
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
      const uint32_t bits =
          __float_as_uint(toFloat(from[first + i])) & 0x7fffffffu;
      own = bits > own ? bits : own;
    }
    atomicMax(&largest, own);
    __syncthreads();
    const float scale = scaleFor(largest, how.most());
    if (threadIdx.x == 0)
      scales[block] = scale;
    if (how.bits == 8) {
      for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
        to[first + i] = char(toInteger(toFloat(from[first + i]), scale));
    } else {
      for (int64_t i = 2 * threadIdx.x; i < count; i += 2 * blockDim.x) {
        const int low = toInteger(toFloat(from[first + i]), scale) & 15;
        const int high =
            i + 1 < count ? toInteger(toFloat(from[first + i + 1]), scale) : 0;
        to[(first + i) / 2] = char(low | (high & 15) << 4);
      }
    }
    __syncthreads();
  }
  // Padding travels, and is the same on every run.
  if (blockIdx.x != 0)
    return;
  for (int64_t i = (elements * how.bits + 7) / 8 + threadIdx.x;
       i < how.scalesAt(elements); i += blockDim.x)
    to[i] = 0;
  for (int64_t i =
           how.scalesAt(elements) + 4 * how.blocks(elements) + threadIdx.x;
       i < how.packedBytes(elements); i += blockDim.x)
    to[i] = 0;
}

/// One piece of every rank's slice: elements [first, first + piece) of it,
/// which `to` has one rank after the other.
template <typename T>
__global__ void dequantizeKernel(const char *from, int64_t slice, int64_t first,
                                 int64_t piece, int64_t ranks, Quantization how,
                                 T *to) {
  const int64_t stride = how.packedBytes(slice);
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
       i < ranks * piece; i += int64_t(gridDim.x) * blockDim.x) {
    const int64_t element = first + i % piece;
    const char *packed = from + i / piece * stride;
    int integer = static_cast<signed char>(packed[element]);
    if (how.bits == 4) {
      const int byte = static_cast<unsigned char>(packed[element / 2]);
      integer = ((element % 2 ? byte >> 4 : byte & 15) ^ 8) - 8;
    }
    const float scale = reinterpret_cast<const float *>(
        packed + how.scalesAt(slice))[element / how.block];
    to[i] = fromFloat<T>(float(integer) * scale);
  }
}

Quantization quantizationOf(const KernelSpec &spec) {
  return {spec.integer("bits"), spec.integer("block")};
}

class Quantize final : public Kernel {
public:
  Quantize(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), type(spec.operands[0].type),
        elements(spec.operands[0].elements()), how(quantizationOf(spec)) {}

  void run(void *const *buffers, void *) override {
    if (!elements)
      return;
    withType(type, [&](auto element) {
      using T = decltype(element);
      quantizeKernel<<<blocksFor(how.blocks(elements) * kThreads, kThreads),
                       kThreads, 0, stream>>>(
          static_cast<const T *>(buffers[0]), elements, how,
          static_cast<char *>(buffers[1]));
    });
    checkLaunch("quantize");
  }

private:
  cudaStream_t stream;
  DataType type;
  int64_t elements;
  Quantization how;
};

class Dequantize final : public Kernel {
public:
  Dequantize(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), type(spec.results[0].type),
        how(quantizationOf(spec)), ranks(spec.integer("ranks")),
        pieces(spec.ints.at("pieces")) {
    for (const int64_t piece : pieces)
      slice += piece;
  }

  void run(void *const *buffers, void *) override {
    withType(type, [&](auto element) {
      using T = decltype(element);
      int64_t first = 0;
      for (const int64_t piece : pieces) {
        if (piece)
          dequantizeKernel<<<blocksFor(ranks * piece, kThreads), kThreads, 0,
                             stream>>>(
              static_cast<const char *>(buffers[0]), slice, first, piece, ranks,
              how, static_cast<T *>(buffers[1]) + first * ranks);
        first += piece;
      }
    });
    checkLaunch("dequantize");
  }

private:
  cudaStream_t stream;
  DataType type;
  Quantization how;
  int64_t ranks, slice = 0;
  std::vector<int64_t> pieces;
};

} // namespace

namespace zrt::cuda {

void registerQuantize(Registry &registry) {
  registry.add("zero.quantize", makeKernel<Quantize>);
  registry.add("zero.dequantize", makeKernel<Dequantize>);
}

} // namespace zrt::cuda
