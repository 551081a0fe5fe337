// nn.cross_entropy, nn.partial_cross_entropy and their gradients.
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

/// Of a range of the classes, its first is an operand.
template <typename T> class CrossEntropy final : public Kernel {
public:
  CrossEntropy(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), isPartial(spec.operands.size() > 2),
        isSum(spec.integer("sum") != 0),
        ignored(spec.integer("ignore_index", kIgnoreIndex)),
        rows(rowsOf(spec.operands[0])),
        classes(spec.integer("classes", rows.width)) {}

  void run(void *const *buffers, void *) override {
    const T *logits = at<T>(buffers, 0);
    const int32_t *targets = at<int32_t>(buffers, 1);
    const ClassRange range(isPartial ? *at<int32_t>(buffers, 2) : 0, rows.width,
                           classes, ignored);
    const int results = isPartial ? 3 : 2;
    float *lse = at<float>(buffers, results + 1);
    const int64_t count =
        divisorOf(isSum, countTargets(targets, rows.count, classes, ignored));
    pool.parallelFor(
        rows.count, rowGrain(rows.width), [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r)
            lse[r] = logSumExp(logits + r * rows.width, range.count);
        });
    double sum = 0;
    for (int64_t r = 0; r < rows.count; ++r)
      if (const int64_t own = range.columnOf(targets[r]); own >= 0)
        sum += lossOfRow(logits + r * rows.width, range.count,
                         static_cast<int32_t>(own), lse[r]);
    *at<float>(buffers, results) =
        count ? static_cast<float>(sum / count) : 0.0f;
  }

private:
  ThreadPool &pool;
  bool isPartial, isSum;
  int64_t ignored;
  Rows rows;
  int64_t classes;
};

/// Of a range, the gradient of the logarithms is an operand as well.
template <typename T> class CrossEntropyGrad final : public Kernel {
public:
  CrossEntropyGrad(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), isPartial(spec.operands.size() > 4),
        isSum(spec.integer("sum") != 0),
        ignored(spec.integer("ignore_index", kIgnoreIndex)),
        rows(rowsOf(spec.operands[isPartial ? 2 : 1])),
        classes(spec.integer("classes", rows.width)) {}

  void run(void *const *buffers, void *) override {
    const int logitsAt = isPartial ? 2 : 1, lseAt = isPartial ? 5 : 3;
    const T *logits = at<T>(buffers, logitsAt);
    const int32_t *targets = at<int32_t>(buffers, logitsAt + 1);
    const ClassRange range(isPartial ? *at<int32_t>(buffers, 4) : 0, rows.width,
                           classes, ignored);
    const float *dlse = isPartial ? at<float>(buffers, 1) : nullptr;
    const float *lse = at<float>(buffers, lseAt);
    T *result = at<T>(buffers, lseAt + 1);
    const float scale =
        *at<float>(buffers, 0) /
        divisorOf(isSum, countTargets(targets, rows.count, classes, ignored));
    const int64_t width = rows.width;
    pool.parallelFor(
        rows.count, rowGrain(width), [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) {
            const T *from = logits + r * width;
            T *to = result + r * width;
            const int64_t own = range.columnOf(targets[r]);
            if (dlse)
              differentiatePartialRow(from, range.count, own, lse[r], scale,
                                      dlse[r], to);
            else if (own >= 0)
              differentiateRow(from, range.count, static_cast<int32_t>(own),
                               lse[r], scale, to);
            else
              clearRow(to, range.count);
            clearRow(to + range.count, width - range.count);
          }
        });
  }

private:
  ThreadPool &pool;
  bool isPartial, isSum;
  int64_t ignored;
  Rows rows;
  int64_t classes;
};

} // namespace

void registerCrossEntropy(Registry &registry) {
  registry.add("nn.cross_entropy", makeByOperand<CrossEntropy>);
  registry.add("nn.cross_entropy_grad", makeByOperand<CrossEntropyGrad, 1>);
  registry.add("nn.partial_cross_entropy", makeByOperand<CrossEntropy>);
  registry.add("nn.partial_cross_entropy_grad",
               makeByOperand<CrossEntropyGrad, 2>);
}

} // namespace zrt::host
