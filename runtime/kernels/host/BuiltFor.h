// The CPU of the host's kernels.
#ifndef ZERO_RUNTIME_KERNELS_HOST_BUILTFOR_H
#define ZERO_RUNTIME_KERNELS_HOST_BUILTFOR_H

namespace zrt {

/// The features that they use, of program/CpuFeatures.h, with spaces between.
extern const char *const kHostKernelFeatures;

} // namespace zrt

#endif // ZERO_RUNTIME_KERNELS_HOST_BUILTFOR_H
