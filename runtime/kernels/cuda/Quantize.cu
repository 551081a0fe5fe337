// zero.quantize, zero.quantize_feedback, zero.dequantize and zero.sum_quantized
// on a device, bitwise equal to the host's.
#include "kernels/Registry.h"
#include "kernels/cuda/Context.h"
#include "kernels/cuda/Device.cuh"
#include "program/BlockScale.h"
#include "program/Control.h"
#include "program/QuantizedKernels.h"

using namespace zrt;
using namespace zrt::cuda;

namespace {

constexpr int kThreads = 256;

__device__ inline int toInteger(float x, float scale) {
  const float scaled = x / scale;
  return scaled == scaled ? int(rintf(scaled)) : 0;
}

/// Padding travels, and is the same on every run.
__device__ inline void clearPadding(const Quantization &how, int64_t elements,
                                    char *to) {
  for (int64_t i = (elements * how.bits + 7) / 8 + threadIdx.x;
       i < how.scalesAt(elements); i += blockDim.x)
    to[i] = 0;
  for (int64_t i =
           how.scalesAt(elements) + 4 * how.blocks(elements) + threadIdx.x;
       i < how.packedBytes(elements); i += blockDim.x)
    to[i] = 0;
}

/// Packs `count` elements of which the first `there`, from `first` on, are in
/// `from`; others are zeros.
template <typename From>
__device__ inline void packBlock(const From &from, int64_t first, int64_t there,
                                 int64_t count, int64_t bits, float scale,
                                 char *to) {
  const auto integerAt = [&](int64_t i) {
    if (i >= there)
      return 0;
    const float x = from(first + i);
    const int integer = toInteger(x, scale);
    from.keep(first + i, x, float(integer) * scale);
    return integer;
  };
  if (bits == 8)
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
      to[i] = char(integerAt(i));
  else
    for (int64_t i = 2 * threadIdx.x; i < count; i += 2 * blockDim.x)
      to[i / 2] = char((integerAt(i) & 15) | (integerAt(i + 1) & 15) << 4);
}

/// What is packed as it is.
template <typename T> struct Plain {
  const T *from;

  __device__ void begin() {}
  __device__ float operator()(int64_t i) const { return toFloat(from[i]); }
  __device__ void keep(int64_t, float, float) const {}
};

/// What is packed with the errors of earlier calls added; keeps what is lost.
template <typename T> struct Corrected {
  const T *gradients;
  const BF16 *errors;
  BF16 *left;
  Feedback feedback;
  const Control *control;
  float scale = 0, inverse = 0; // of the loss; without errors scale is 0

  /// Errors begin anew, too, where the last update was skipped.
  __device__ void begin() {
    const int64_t update = int64_t(control->batch) / feedback.accumulation;
    const bool isFresh = control->microIndex == 0 &&
                         (update % feedback.reset == 0 || !control->finite);
    scale = isFresh ? 0 : control->scale;
    inverse = 1 / control->scale;
  }
  __device__ float errorAt(int64_t i) const {
    return toFloat(errors[i]) * scale;
  }
  __device__ float operator()(int64_t i) const {
    return toFloat(gradients[i]) + errorAt(i);
  }
  /// Keeps the error of element i, quantized from `x` and dequantized to
  /// `back`.
  __device__ void keep(int64_t i, float x, float back) const {
    const float error = feedback.beta * errorAt(i) + feedback.rest * (x - back);
    const BF16 rounded = fromFloat<BF16>(error * inverse);
    left[i] = isNonFinite(toFloat(rounded)) ? BF16{0} : rounded;
  }
};

/// A thread block for each block of elements of each piece.
template <typename From>
__global__ void quantizeKernel(From from, int64_t elements, Quantization how,
                               QuantizedPieces cut, char *to) {
  from.begin();
  __shared__ uint32_t largest;
  const int64_t blocks = how.blocks(cut.piece);
  for (int64_t index = blockIdx.x; index < cut.all() * blocks;
       index += gridDim.x) {
    const int64_t piece = index / blocks, block = index % blocks;
    const int64_t first = block * how.block;
    const int64_t count =
        cut.piece - first < how.block ? cut.piece - first : how.block;
    const int64_t source = cut.sourceOf(piece) + first;
    const int64_t left = elements > source ? elements - source : 0;
    const int64_t there = left < count ? left : count;
    char *packed = to + piece * how.packedBytes(cut.piece);
    if (threadIdx.x == 0)
      largest = 0;
    __syncthreads();
    uint32_t own = 0;
    for (int64_t i = threadIdx.x; i < there; i += blockDim.x) {
      const uint32_t bits = magnitudeOf(from(source + i));
      own = bits > own ? bits : own;
    }
    atomicMax(&largest, own);
    __syncthreads();
    const float scale = scaleFor(largest, how.most());
    if (threadIdx.x == 0)
      reinterpret_cast<float *>(packed + how.scalesAt(cut.piece))[block] =
          scale;
    packBlock(from, source, there, count, how.bits, scale,
              packed + first * how.bits / 8);
    if (block == 0)
      clearPadding(how, cut.piece, packed);
    __syncthreads();
  }
}

/// Element `element` of a packed slice, before it is scaled.
__device__ inline int integerAt(const char *packed, int64_t element,
                                int64_t bits) {
  if (bits == 8)
    return static_cast<signed char>(packed[element]);
  const int byte = static_cast<unsigned char>(packed[element / 2]);
  return ((element % 2 ? byte >> 4 : byte & 15) ^ 8) - 8;
}

__device__ inline float scaleAt(const char *packed, int64_t elements,
                                int64_t element, const Quantization &how) {
  return reinterpret_cast<const float *>(
      packed + how.scalesAt(elements))[element / how.block];
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
    to[i] = fromFloat<T>(float(integerAt(packed, element, how.bits)) *
                         scaleAt(packed, slice, element, how));
  }
}

/// A thread for each element of this rank's pieces, over the ranks in order.
template <typename T>
__global__ void sumKernel(const char *from, Quantization how,
                          QuantizedPieces cut, float factor, T *to) {
  const int64_t stride = how.packedBytes(cut.piece);
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
       i < cut.pieces * cut.piece; i += int64_t(gridDim.x) * blockDim.x) {
    const int64_t element = i % cut.piece;
    float sum = 0;
    for (int64_t rank = 0; rank < cut.ranks; ++rank) {
      const char *packed = from + (rank * cut.pieces + i / cut.piece) * stride;
      sum += float(integerAt(packed, element, how.bits)) *
             scaleAt(packed, cut.piece, element, how);
    }
    to[i] = fromFloat<T>(sum * factor);
  }
}

class Packer : public Kernel {
protected:
  Packer(const KernelSpec &spec, const KernelContext &context)
      : type(spec.operands[0].type), stream(context.cuda->stream),
        elements(spec.operands[0].elements()), how(quantizationOf(spec)),
        cut(piecesOf(spec)) {}

  template <typename From> void packAll(const From &from, void *to) {
    if (!cut.piece)
      return;
    quantizeKernel<<<blocksFor(cut.all() * how.blocks(cut.piece) * kThreads,
                               kThreads),
                     kThreads, 0, stream>>>(from, elements, how, cut,
                                            static_cast<char *>(to));
    checkLaunch("quantize");
  }

  DataType type;

private:
  cudaStream_t stream;
  int64_t elements;
  Quantization how;
  QuantizedPieces cut;
};

class Quantize final : public Packer {
public:
  Quantize(const KernelSpec &spec, const KernelContext &context)
      : Packer(spec, context) {}

  void run(void *const *buffers, void *) override {
    withType(type, [&](auto element) {
      using T = decltype(element);
      packAll(Plain<T>{static_cast<const T *>(buffers[0])}, buffers[1]);
    });
  }
};

class QuantizeFeedback final : public Packer {
public:
  QuantizeFeedback(const KernelSpec &spec, const KernelContext &context)
      : Packer(spec, context), control(context.control),
        feedback(feedbackOf(spec)) {}

  void run(void *const *buffers, void *) override {
    withType(type, [&](auto element) {
      using T = decltype(element);
      packAll(Corrected<T>{static_cast<const T *>(buffers[0]),
                           static_cast<const BF16 *>(buffers[1]),
                           static_cast<BF16 *>(buffers[3]), feedback, control},
              buffers[2]);
    });
  }

private:
  const Control *control;
  Feedback feedback;
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

class SumQuantized final : public Kernel {
public:
  SumQuantized(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), type(spec.results[0].type),
        how(quantizationOf(spec)), cut(piecesOf(spec)),
        factor(static_cast<float>(spec.real("factor", 1))) {}

  void run(void *const *buffers, void *) override {
    const int64_t elements = cut.pieces * cut.piece;
    if (!elements)
      return;
    withType(type, [&](auto element) {
      using T = decltype(element);
      sumKernel<<<blocksFor(elements, kThreads), kThreads, 0, stream>>>(
          static_cast<const char *>(buffers[0]), how, cut, factor,
          static_cast<T *>(buffers[1]));
    });
    checkLaunch("sum_quantized");
  }

private:
  cudaStream_t stream;
  DataType type;
  Quantization how;
  QuantizedPieces cut;
  float factor;
};

} // namespace

namespace zrt::cuda {

void registerQuantize(Registry &registry) {
  registry.add("zero.quantize", makeKernel<Quantize>);
  registry.add("zero.quantize_feedback", makeKernel<QuantizeFeedback>);
  registry.add("zero.dequantize", makeKernel<Dequantize>);
  registry.add("zero.sum_quantized", makeKernel<SumQuantized>);
}

} // namespace zrt::cuda
