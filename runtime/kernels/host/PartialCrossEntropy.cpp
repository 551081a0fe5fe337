// nn.partial_cross_entropy and its gradient: a range of the classes.
#include "kernels/host/CrossEntropyRow.h"
#include "program/Loss.h"

namespace zrt::host {

namespace {

template <typename T> class PartialCrossEntropy final : public Kernel {
public:
  PartialCrossEntropy(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool),
        ignored(spec.integer("ignore_index", kIgnoreIndex)),
        classes(spec.integer("classes")), rows(rowsOf(spec.operands[0])) {}

  void run(void *const *buffers, void *) override {
    const T *logits = at<T>(buffers, 0);
    const int32_t *targets = at<int32_t>(buffers, 1);
    const ClassRange range(*at<int32_t>(buffers, 2), rows.width, classes);
    float *lse = at<float>(buffers, 4);
    int64_t count = countTargets(targets, rows.count, classes, ignored);
    pool.parallelFor(
        rows.count, rowGrain(rows.width), [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r)
            lse[r] = logSumExp(logits + r * rows.width, range.count);
        });
    double sum = 0;
    for (int64_t r = 0; r < rows.count; ++r)
      if (const int64_t own = range.columnOf(targets[r]);
          own >= 0 && targets[r] != ignored)
        sum += lossOfRow(logits + r * rows.width, range.count,
                         static_cast<int32_t>(own), lse[r]);
    *at<float>(buffers, 3) = count ? static_cast<float>(sum / count) : 0.0f;
  }

private:
  ThreadPool &pool;
  int64_t ignored, classes;
  Rows rows;
};

template <typename T> class PartialCrossEntropyGrad final : public Kernel {
public:
  PartialCrossEntropyGrad(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool),
        ignored(spec.integer("ignore_index", kIgnoreIndex)),
        classes(spec.integer("classes")), rows(rowsOf(spec.operands[2])) {}

  void run(void *const *buffers, void *) override {
    const float *dlse = at<float>(buffers, 1);
    const T *logits = at<T>(buffers, 2);
    const int32_t *targets = at<int32_t>(buffers, 3);
    const ClassRange range(*at<int32_t>(buffers, 4), rows.width, classes);
    const float *lse = at<float>(buffers, 5);
    T *result = at<T>(buffers, 6);
    const float scale = *at<float>(buffers, 0) /
                        countTargets(targets, rows.count, classes, ignored);
    const int64_t width = rows.width;
    pool.parallelFor(
        rows.count, rowGrain(width), [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) {
            T *to = result + r * width;
            const int64_t own =
                targets[r] == ignored ? -1 : range.columnOf(targets[r]);
            differentiatePartialRow(logits + r * width, range.count, own,
                                    lse[r], scale, dlse[r], to);
            clearRow(to + range.count, width - range.count);
          }
        });
  }

private:
  ThreadPool &pool;
  int64_t ignored, classes;
  Rows rows;
};

} // namespace

void registerPartialCrossEntropy(Registry &registry) {
  registry.add("nn.partial_cross_entropy", makeByOperand<PartialCrossEntropy>);
  registry.add("nn.partial_cross_entropy_grad",
               makeByOperand<PartialCrossEntropyGrad, 2>);
}

} // namespace zrt::host
