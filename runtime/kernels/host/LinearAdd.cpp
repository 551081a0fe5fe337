// nn.linear_add: the kernel of its product, whose result is rounded before the
// other tensor is added.
#include "kernels/shapes/LinearAdd.h"
#include "kernels/Vector.h"
#include "kernels/host/Host.h"

namespace zrt::host {

namespace {

template <typename T> class LinearAdd final : public Kernel {
public:
  LinearAdd(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool),
        product(makeHostKernel(productOfLinearAdd(spec), context)),
        result(spec.operands.size()), rows(rowsOf(spec.results[0])) {}

  size_t workspaceBytes() const override { return product->workspaceBytes(); }

  void run(void *const *buffers, void *workspace) override {
    void *all[4];
    size_t count = 0;
    for (size_t i = 0; i <= result; ++i)
      if (i != size_t(kLinearAddend))
        all[count++] = buffers[i];
    product->run(all, workspace);
    const T *c = at<T>(buffers, kLinearAddend);
    T *y = at<T>(buffers, result);
    pool.parallelFor(
        rows.count, rowGrain(rows.width), [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r)
            forEachVector(rows.width, [&](Lanes at) {
              const int64_t first = r * rows.width;
              at.store(y + first, at.load(y + first) + at.load(c + first));
            });
        });
  }

private:
  ThreadPool &pool;
  std::unique_ptr<Kernel> product;
  size_t result;
  Rows rows;
};

} // namespace

void registerLinearAdd(Registry &registry) {
  registry.add("nn.linear_add", makeByOperand<LinearAdd>);
}

} // namespace zrt::host
