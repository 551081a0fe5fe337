// zero.grad_stats and zero.grad_scale: found-inf, norm, clip.
#include "kernels/optimizer/ExactSum.h"
#include "kernels/optimizer/Rules.h"
#include "kernels/optimizer/Specs.h"

#include <algorithm>
#include <mutex>

using namespace zrt;

namespace {

/// Elements that are read twice, for found-inf and for the squares: few
/// enough to stay in the first-level cache.
constexpr int64_t kBlock = 4096;

/// Elements whose f64 sum is one term of the whole: the terms are added in
/// order, so the sum does not depend on the number of threads.
constexpr int64_t kTerm = int64_t(1) << 16;

/// What one term found.
struct Term {
  double squares;
  int64_t nonFinite;
};

class GradientStatistics : public Kernel {
public:
  GradientStatistics(const KernelSpec &spec, const KernelContext &context)
      : context(context), partition(partitionOf(spec)),
        first(spec.integer("first") != 0), exact(spec.integer("exact") != 0),
        squared(spec.integer("finite_only") == 0), base(spec.integer("base")),
        type(spec.operands[0].type),
        elements(countsElements(spec, context) ? spec.operands[0].elements()
                                               : 0) {}

  size_t workspaceBytes() const override {
    return exact || !squared ? 0 : terms() * sizeof(Term);
  }

  void run(void *const *buffers, void *workspace) override {
    Control &control = *context.control;
    if (first)
      clear(control);
    const int64_t found = add(buffers[0], workspace, control);
    control.nonFinite += found;
    if (!found)
      return;
    // Ranges come in the order in which their reductions end.
    int64_t &known = control.firstNonFinite[partition];
    const int64_t bad = base + firstBad(buffers[0]);
    known = known < 0 ? bad : std::min(known, bad);
  }

private:
  int64_t add(const void *gradient, void *workspace, Control &control) {
    if (!squared)
      return loops::countNonFinite(type, gradient, 0, elements);
    return exact
               ? addExact(gradient, control)
               : addRounded(gradient, static_cast<Term *>(workspace), control);
  }

  int64_t terms() const { return (elements + kTerm - 1) / kTerm; }

  static void clear(Control &control) {
    std::fill_n(control.normLimbs, kNormLimbs, 0);
    std::fill_n(control.firstNonFinite, kMaxGroups, -1);
    control.nonFinite = 0;
    control.normSum = 0;
  }

  int64_t addExact(const void *gradient, Control &control) {
    std::mutex mutex;
    int64_t found = 0;
    context.pool->parallelFor(
        elements, kElementsPerThread, [&](int64_t begin, int64_t end) {
          int64_t limbs[kNormLimbs] = {};
          int64_t bad = exactRange(gradient, begin, end, limbs);
          std::lock_guard<std::mutex> lock(mutex);
          for (int i = 0; i < kNormLimbs; ++i)
            control.normLimbs[i] += limbs[i];
          found += bad;
        });
    normalizeLimbs(control.normLimbs);
    return found;
  }

  int64_t exactRange(const void *gradient, int64_t begin, int64_t end,
                     int64_t *limbs) {
    alignas(64) uint64_t tables[kSquareTables * kSquareExponents] = {};
    int64_t bad = 0;
    for (int64_t part = begin; part < end; part += kSquaresPerFlush) {
      int64_t partEnd = std::min(end, part + kSquaresPerFlush);
      for (int64_t block = part; block < partEnd; block += kBlock) {
        int64_t blockEnd = std::min(partEnd, block + kBlock);
        bad += loops::countNonFinite(type, gradient, block, blockEnd);
        loops::exactSquares(type, gradient, block, blockEnd, tables);
      }
      flushSquares(tables, limbs);
    }
    return bad;
  }

  int64_t addRounded(const void *gradient, Term *sums, Control &control) {
    context.pool->parallelFor(
        terms(), std::max<int64_t>(kElementsPerThread / kTerm, 1),
        [&](int64_t begin, int64_t end) {
          for (int64_t term = begin; term < end; ++term) {
            int64_t from = term * kTerm;
            int64_t to = std::min(elements, from + kTerm);
            sums[term].nonFinite = 0;
            sums[term].squares = loops::sumSquares(type, gradient, from, to,
                                                   sums[term].nonFinite);
          }
        });
    int64_t found = 0;
    for (int64_t term = 0; term < terms(); ++term) {
      control.normSum += sums[term].squares;
      found += sums[term].nonFinite;
    }
    return found;
  }

  /// The first inf or NaN, which there is.
  int64_t firstBad(const void *gradient) const {
    int64_t block = 0;
    while (!loops::countNonFinite(type, gradient, block,
                                  std::min(elements, block + kBlock)))
      block += kBlock;
    while (!loops::countNonFinite(type, gradient, block, block + 1))
      ++block;
    return block;
  }

  KernelContext context;
  int partition;
  bool first, exact, squared;
  int64_t base;
  DataType type;
  int64_t elements;
};

class GradientScale : public Kernel {
public:
  GradientScale(const KernelSpec &spec, const KernelContext &context)
      : control(*context.control), rule(judgeRuleOf(spec)) {}

  void run(void *const *, void *) override { judge(rule, control); }

private:
  Control &control;
  JudgeRule rule;
};

} // namespace

void zrt::registerStatisticsKernels(Registry &registry) {
  registry.add("zero.grad_stats", makeKernel<GradientStatistics>);
  registry.add("zero.grad_scale", makeKernel<GradientScale>);
}
