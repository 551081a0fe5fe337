// "launch": the functions that the compiler generated.
#include "kernels/cuda/Kernels.h"
#include "kernels/optimizer/Specs.h"

#include <algorithm>

namespace zrt::cuda {

namespace {

class GeneratedLaunch final : public Kernel {
public:
  GeneratedLaunch(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), buffers(bufferTypes(spec).size()) {
    const GeneratedKernel *found = nullptr;
    for (int64_t i = 0; i < context.generatedCount; ++i)
      if (spec.symbol == context.generated[i].name)
        found = &context.generated[i];
    if (!found || !context.cuda->library)
      refuse(spec, "no generated function '" + spec.symbol + "' among " +
                       std::to_string(context.generatedCount) +
                       "; the program and its code are not of one compilation");
    check(cudaLibraryGetKernel(&kernel, context.cuda->library, found->name),
          "cudaLibraryGetKernel");
    // Loads the code now: a step loads nothing, least of all while it is
    // captured.
    cudaFuncAttributes attributes = {};
    check(cudaFuncGetAttributes(&attributes,
                                reinterpret_cast<const void *>(kernel)),
          "cudaFuncGetAttributes");
    // A thread takes every so-manieth vector of elements, so any grid is right.
    const int64_t share = kThreads * std::max<int64_t>(found->grain, 1);
    const int64_t wanted = (found->extent + share - 1) / share;
    blocks = unsigned(
        std::clamp<int64_t>(wanted, 1, int64_t(multiprocessors()) * 16));
    arguments.resize(buffers);
  }

  void run(void *const *addresses, void *) override {
    for (size_t i = 0; i < buffers; ++i)
      arguments[i] = const_cast<void **>(addresses + i);
    check(cudaLaunchKernel(reinterpret_cast<const void *>(kernel), dim3(blocks),
                           dim3(kThreads), arguments.data(), 0, stream),
          "cudaLaunchKernel");
  }

private:
  static constexpr int kThreads = 256;
  cudaStream_t stream;
  size_t buffers;
  cudaKernel_t kernel = nullptr;
  unsigned blocks = 1;
  std::vector<void *> arguments;
};

} // namespace

void registerGeneratedKernels(Registry &registry) {
  registry.add("launch", makeKernel<GeneratedLaunch>);
}

} // namespace zrt::cuda
