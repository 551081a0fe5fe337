// nn.broadcast, nn.transpose, nn.split, and tensor.concat, extract_slice,
// insert_slice, pad and splat: strided copies and fills.
#include "kernels/host/Host.h"
#include "kernels/host/StridedCopy.h"
#include "kernels/shapes/Movement.h"

#include <cstring>

namespace zrt::host {

namespace {

class MovementKernel final : public Kernel {
public:
  MovementKernel(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), plan(movementOf(spec)),
        result(spec.operands.size()), resultBytes(spec.results[0].bytes()),
        fill({spec.results[0].elements()}, {0}, {1},
             sizeOf(spec.results[0].type)) {
    for (const Movement::Part &part : plan.parts)
      copies.emplace_back(part.sizes, part.fromStrides, part.toStrides,
                          part.elementBytes);
  }

  void run(void *const *buffers, void *) override {
    if (plan.copiesWhole && buffers[1] != buffers[2])
      copyWhole(at<char>(buffers, 1), at<char>(buffers, 2));
    if (!plan.fill.empty())
      fill.run(pool, plan.fill.data(), buffers[result]);
    for (size_t i = 0; i < copies.size(); ++i) {
      const Movement::Part &part = plan.parts[i];
      copies[i].run(pool, at<char>(buffers, part.from) + part.fromOffset,
                    at<char>(buffers, part.to) + part.toOffset);
    }
  }

private:
  void copyWhole(const char *from, char *to) {
    constexpr int64_t worthwhile = 65536;
    pool.parallelFor(resultBytes, worthwhile, [&](int64_t begin, int64_t end) {
      std::memcpy(to + begin, from + begin, end - begin);
    });
  }

  ThreadPool &pool;
  Movement plan;
  size_t result;
  int64_t resultBytes;
  StridedCopy fill;
  std::vector<StridedCopy> copies;
};

} // namespace

void registerDataMovement(Registry &registry) {
  for (const std::string &name : movementNames())
    registry.add(name, makeKernel<MovementKernel>);
}

} // namespace zrt::host
