// "launch" on the model: the functions that the compiler generated for the
// host, in the order of the stream. What they touch is not checked.
#include "Runtime.h"

#include "kernels/Registry.h"
#include "kernels/cuda/Context.h"
#include "kernels/optimizer/Specs.h"

#include <vector>

namespace zrt::cuda {

namespace {

class HostLaunch final : public Kernel {
public:
  HostLaunch(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), buffers(bufferTypes(spec).size()),
        pool(1) {
    KernelContext own = context;
    own.pool = &pool;
    inner = makeHostKernel(spec, own);
  }

  size_t workspaceBytes() const override { return inner->workspaceBytes(); }
  void run(void *const *addresses, void *workspace) override {
    const std::vector<void *> own(addresses, addresses + buffers);
    bench::queueAtOnce(
        stream, [this, own, workspace] { inner->run(own.data(), workspace); });
  }

private:
  cudaStream_t stream;
  size_t buffers;
  ThreadPool pool;
  std::unique_ptr<Kernel> inner;
};

} // namespace

void registerGeneratedKernels(Registry &registry) {
  registry.add("launch", makeKernel<HostLaunch>);
}

} // namespace zrt::cuda
