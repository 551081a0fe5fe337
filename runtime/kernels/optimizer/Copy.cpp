// zero.copy, zero.clear and zero.accumulate.
#include "kernels/optimizer/Loops.h"
#include "kernels/optimizer/Specs.h"

#include <cstring>

using namespace zrt;

namespace {

/// Both are (source) -> (destination) of as many elements.
class TransferKernel : public Kernel {
public:
  TransferKernel(const KernelSpec &spec, const KernelContext &context)
      : context(context) {
    from = spec.operands[0].type;
    to = spec.operands[1].type;
    elements = spec.operands[0].elements();
  }

protected:
  void copy(const void *source, void *destination) {
    if (source == destination && from == to)
      return;
    context.pool->parallelFor(
        elements, kElementsPerThread, [&](int64_t begin, int64_t end) {
          if (from != to)
            return loops::convert(from, source, to, destination, begin, end);
          size_t width = sizeOf(from);
          std::memcpy(static_cast<char *>(destination) + begin * width,
                      static_cast<const char *>(source) + begin * width,
                      (end - begin) * width);
        });
  }

  KernelContext context;
  DataType from, to;
  int64_t elements;
};

/// With an attribute `updated`, only where the update was not skipped.
class CopyKernel : public TransferKernel {
public:
  CopyKernel(const KernelSpec &spec, const KernelContext &context)
      : TransferKernel(spec, context), ofUpdate(spec.integer("updated") != 0) {}

  void run(void *const *buffers, void *) override {
    if (!ofUpdate || context.control->finite)
      copy(buffers[0], buffers[1]);
  }

private:
  bool ofUpdate;
};

/// One buffer, set to zero: padding that shares memory with other values.
class ClearKernel : public Kernel {
public:
  ClearKernel(const KernelSpec &spec, const KernelContext &context)
      : context(context), bytes(spec.operands[0].bytes()) {}

  void run(void *const *buffers, void *) override {
    context.pool->parallelFor(
        bytes, kElementsPerThread * sizeof(float),
        [&](int64_t begin, int64_t end) {
          std::memset(static_cast<char *>(buffers[0]) + begin, 0, end - begin);
        });
  }

private:
  KernelContext context;
  int64_t bytes;
};

/// With an attribute `owner`, only that rank adds: a bucket whose pieces went
/// to their owners.
class AccumulateKernel : public TransferKernel {
public:
  AccumulateKernel(const KernelSpec &spec, const KernelContext &context)
      : TransferKernel(spec, context) {
    owns = isOwner(spec, context);
    adds = spec.has("add");
    checkSum(spec, context);
  }

  void run(void *const *buffers, void *) override {
    if (!owns)
      return;
    if (context.control->microIndex == 0 && !adds)
      return copy(buffers[0], buffers[1]);
    context.pool->parallelFor(
        elements, kElementsPerThread, [&](int64_t begin, int64_t end) {
          loops::add(from, buffers[0], static_cast<float *>(buffers[1]), begin,
                     end);
        });
  }

private:
  bool owns, adds;
};

} // namespace

void zrt::registerCopyKernels(Registry &registry) {
  registry.add("zero.copy", makeKernel<CopyKernel>);
  registry.add("zero.clear", makeKernel<ClearKernel>);
  registry.add("zero.accumulate", makeKernel<AccumulateKernel>);
}
