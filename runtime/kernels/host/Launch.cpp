// "launch": the functions that the compiler generated.
#include "kernels/host/DivisionFaults.h"
#include "kernels/host/Host.h"

#include <stdexcept>

namespace zrt::host {

namespace {

class Launch final : public Kernel {
public:
  Launch(const GeneratedKernel &function, ThreadPool &pool)
      : function(function), pool(pool) {}

  void run(void *const *buffers, void *) override {
    pool.parallelFor(
        function.extent, function.grain,
        [&](int64_t begin, int64_t end) { runPart(buffers, begin, end); });
  }

private:
  void runPart(void *const *buffers, int64_t begin, int64_t end) {
    DivisionFaults faults;
    if (sigsetjmp(faults.place(), /*savemask=*/0))
      throw std::domain_error("an integer is divided by 0, or the least one by "
                              "-1; check the data, or have the model choose "
                              "another divisor");
    function.run(buffers, begin, end);
  }

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
