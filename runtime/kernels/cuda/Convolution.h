// Convolution by own kernels, as functions that queue it on a stream.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_CONVOLUTION_H
#define ZERO_RUNTIME_KERNELS_CUDA_CONVOLUTION_H

#include "program/Windows.h"

#include <cuda_runtime_api.h>

namespace zrt::cuda {

/// Images [samples, groups * depth, plane], weights [features, depth, taps]
/// and results [samples, features, count].
struct ConvolutionShape {
  DataType type;
  Windows windows;
  int64_t samples, features, groups, depth;
  int64_t plane, count, taps;
};
ConvolutionShape convolutionOf(const KernelSpec &spec, const TensorType &images,
                               const TensorType &weights,
                               const TensorType &results);

// By plain sums in f32. Addresses are the device's; `elements` are those of
// what is written.
void convolution(const ConvolutionShape &shape, const void *images,
                 const void *weights, void *results, int64_t elements,
                 cudaStream_t stream);
void convolutionImages(const ConvolutionShape &shape, const void *results,
                       const void *weights, void *images, int64_t elements,
                       cudaStream_t stream);
/// Of the weights, those from feature `firstRow` on.
void convolutionWeights(const ConvolutionShape &shape, const void *results,
                        const void *images, void *weights, int64_t firstRow,
                        int64_t elements, cudaStream_t stream);

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_CONVOLUTION_H
