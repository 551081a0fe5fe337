// The foreign kernels on the host: what an executable is linked with.
#include "kernels/Registry.h"
#include "program/Float16.h"

using namespace zrt;

namespace {

/// Calls `body` with a value of the element type.
template <typename Body> void withType(DataType type, Body body) {
  switch (type) {
  case DataType::F16:
    return body(Float16());
  case DataType::BF16:
    return body(BFloat16());
  default:
    return body(float());
  }
}

template <bool gradient> class Cube final : public Kernel {
public:
  Cube(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), x(spec.operands.back()),
        offset(float(spec.real("offset"))) {}

  void run(void *const *buffers, void *) override {
    withType(x.type, [&](auto element) {
      using T = decltype(element);
      pool.parallelFor(x.elements(), 1024, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const float t =
              toFloat(static_cast<const T *>(buffers[gradient])[i]) + offset;
          const float value =
              gradient
                  ? 3 * (t * t) * toFloat(static_cast<const T *>(buffers[0])[i])
                  : t * t * t;
          static_cast<T *>(buffers[gradient ? 2 : 1])[i] = fromFloat<T>(value);
        }
      });
    });
  }

private:
  ThreadPool &pool;
  TensorType x;
  float offset;
};

const KernelRegistration forward(Processor::Host, "foreign.cube",
                                 makeKernel<Cube<false>>);
const KernelRegistration backward(Processor::Host, "foreign.cube_grad",
                                  makeKernel<Cube<true>>);

} // namespace
