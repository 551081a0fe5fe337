// nn.cross_entropy and nn.cross_entropy_grad.
#include "kernels/host/CrossEntropyRow.h"
#include "program/Loss.h"

#include <stdexcept>

namespace zrt::host {

int64_t countTargets(const int32_t *targets, int64_t rows, int64_t classes,
                     int64_t ignored) {
  int64_t count = 0;
  for (int64_t r = 0; r < rows; ++r) {
    if (targets[r] == ignored)
      continue;
    if (targets[r] < 0 || targets[r] >= classes)
      throw std::out_of_range(
          "nn.cross_entropy: target " + std::to_string(targets[r]) +
          " at position " + std::to_string(r) + " is outside 0 .. " +
          std::to_string(classes - 1) + " and is not the ignore_index " +
          std::to_string(ignored) + "; check the data against the vocabulary");
    ++count;
  }
  return count;
}

namespace {

template <typename T> class CrossEntropy final : public Kernel {
public:
  CrossEntropy(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool),
        ignored(spec.integer("ignore_index", kIgnoreIndex)),
        rows(rowsOf(spec.operands[0])),
        classes(spec.integer("classes", rows.width)) {}

  void run(void *const *buffers, void *) override {
    const T *logits = at<T>(buffers, 0);
    const int32_t *targets = at<int32_t>(buffers, 1);
    float *lse = at<float>(buffers, 3);
    int64_t count = countTargets(targets, rows.count, classes, ignored);
    pool.parallelFor(rows.count, rowGrain(rows.width),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t r = begin; r < end; ++r)
                         lse[r] = logSumExp(logits + r * rows.width, classes);
                     });
    double sum = 0;
    for (int64_t r = 0; r < rows.count; ++r)
      if (targets[r] != ignored)
        sum += lossOfRow(logits + r * rows.width, classes, targets[r], lse[r]);
    *at<float>(buffers, 2) = count ? static_cast<float>(sum / count) : 0.0f;
  }

private:
  ThreadPool &pool;
  int64_t ignored;
  Rows rows;
  int64_t classes;
};

template <typename T> class CrossEntropyGrad final : public Kernel {
public:
  CrossEntropyGrad(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool),
        ignored(spec.integer("ignore_index", kIgnoreIndex)),
        rows(rowsOf(spec.operands[1])),
        classes(spec.integer("classes", rows.width)) {}

  void run(void *const *buffers, void *) override {
    const T *logits = at<T>(buffers, 1);
    const int32_t *targets = at<int32_t>(buffers, 2);
    const float *lse = at<float>(buffers, 3);
    T *result = at<T>(buffers, 4);
    const float scale = *at<float>(buffers, 0) /
                        countTargets(targets, rows.count, classes, ignored);
    const int64_t width = rows.width;
    pool.parallelFor(rows.count, rowGrain(width),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t r = begin; r < end; ++r)
                         row(logits + r * width, targets[r], lse[r], scale,
                             result + r * width);
                     });
  }

private:
  void row(const T *logits, int32_t target, float lse, float scale,
           T *result) const {
    if (target == ignored)
      return clearRow(result, rows.width);
    differentiateRow(logits, classes, target, lse, scale, result);
    clearRow(result + classes, rows.width - classes);
  }

  ThreadPool &pool;
  int64_t ignored;
  Rows rows;
  int64_t classes;
};

} // namespace

void registerCrossEntropy(Registry &registry) {
  registry.add("nn.cross_entropy", makeByOperand<CrossEntropy>);
  registry.add("nn.cross_entropy_grad", makeByOperand<CrossEntropyGrad, 1>);
}

} // namespace zrt::host
