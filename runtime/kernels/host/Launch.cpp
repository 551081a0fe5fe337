// "launch": the functions that the compiler generated.
#include "kernels/host/Host.h"

namespace zrt::host {

namespace {

class Launch final : public Kernel {
public:
  Launch(const GeneratedKernel &function, ThreadPool &pool)
      : function(function), pool(pool) {}

  void run(void *const *buffers, void *) override {
    pool.parallelFor(
        function.extent, function.grain,
        [&](int64_t begin, int64_t end) { function.run(buffers, begin, end); });
  }

private:
  const GeneratedKernel &function;
  ThreadPool &pool;
};

std::unique_ptr<Kernel> makeLaunch(const KernelSpec &spec,
                                   const KernelContext &context) {
  for (int64_t i = 0; i < context.generatedCount; ++i)
    if (spec.symbol == context.generated[i].name)
      return std::make_unique<Launch>(context.generated[i], *context.pool);
  refuse(spec, "no generated function '" + spec.symbol + "' among " +
                   std::to_string(context.generatedCount) +
                   "; the program and its code are not of one compilation");
}

} // namespace

void registerLaunch(Registry &registry) { registry.add("launch", makeLaunch); }

} // namespace zrt::host
