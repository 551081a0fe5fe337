// nn.reduce: sum, maximum and mean over dimensions.
#include "kernels/Vector.h"
#include "kernels/host/Host.h"

#include <algorithm>
#include <limits>

namespace zrt::host {

namespace {

/// Neighbouring dimensions that are all kept, or all reduced.
struct Group {
  int64_t size, stride; ///< stride of the last of them, in elements
};

/// The largest of two; a NaN wins, so that it is seen.
ZERO_INLINE Vector maximum(Vector a, Vector b) {
  return a != a ? a : (a > b ? a : b);
}

template <typename T> class Reduce final : public Kernel {
public:
  Reduce(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), kind(spec.kind<ReduceKind>()) {
    group(spec, spec.operands[0]);
    factor = kind == ReduceKind::Mean ? 1.0f / static_cast<float>(terms) : 1.0f;
  }

  void run(void *const *buffers, void *) override {
    const T *x = at<T>(buffers, 0);
    T *y = at<T>(buffers, 1);
    if (innerKept)
      runColumns(x, y);
    else
      runRows(x, y);
  }

private:
  /// Sorts dimensions into groups, outermost first.
  void group(const KernelSpec &spec, const TensorType &x) {
    size_t rank = x.shape.size();
    std::vector<bool> reduced(rank, false);
    for (int64_t dim : spec.ints.at("dims"))
      reduced[dim] = true;
    const std::vector<int64_t> strides = stridesOf(x.shape);
    for (size_t i = 0; i < rank; ++i) {
      std::vector<Group> &groups = reduced[i] ? reducedGroups : keptGroups;
      if (i && reduced[i] == reduced[i - 1])
        groups.back() = {groups.back().size * x.shape[i], strides[i]};
      else
        groups.push_back({x.shape[i], strides[i]});
      (reduced[i] ? terms : results) *= x.shape[i];
    }
    innerKept = rank == 0 || !reduced[rank - 1];
    // The innermost group is walked by vectors: apart from the others.
    std::vector<Group> &last = innerKept ? keptGroups : reducedGroups;
    if (last.empty())
      return;
    inner = last.back().size;
    last.pop_back();
  }

  /// Where index `i` of the groups lies.
  static int64_t offsetOf(const std::vector<Group> &groups, int64_t i) {
    int64_t offset = 0;
    for (size_t g = groups.size(); g-- > 0; i /= groups[g].size)
      offset += i % groups[g].size * groups[g].stride;
    return offset;
  }

  Vector start() const {
    return splat(kind == ReduceKind::Max
                     ? -std::numeric_limits<float>::infinity()
                     : 0.0f);
  }
  Vector combine(Vector a, Vector b) const {
    return kind == ReduceKind::Max ? maximum(a, b) : a + b;
  }

  /// Every result is a run of `inner` results: add whole rows up. Sums of
  /// kBlock rows are added to the total, so that errors grow slowly.
  void runColumns(const T *x, T *y) const {
    const int64_t chunks = (inner + kChunk - 1) / kChunk;
    const int64_t outer = inner ? results / inner : 0;
    pool.parallelFor(outer * chunks, rowGrain(terms * kChunk),
                     [&](int64_t begin, int64_t end) {
                       for (int64_t i = begin; i < end; ++i) {
                         int64_t first = i % chunks * kChunk;
                         int64_t row = i / chunks;
                         columns(x + offsetOf(keptGroups, row) + first,
                                 std::min(kChunk, inner - first),
                                 y + row * inner + first);
                       }
                     });
  }

  void columns(const T *x, int64_t count, T *y) const {
    float total[kChunk], block[kChunk];
    for (int64_t t0 = 0; t0 < terms || t0 == 0; t0 += kBlock) {
      forEachVector(count, [&](Lanes at) { at.store(block, start()); });
      for (int64_t t = t0; t < std::min(t0 + kBlock, terms); ++t) {
        const T *row = x + offsetOf(reducedGroups, t);
        forEachVector(count, [&](Lanes at) {
          at.store(block, combine(at.load(block), at.load(row)));
        });
      }
      forEachVector(count, [&](Lanes at) {
        at.store(total,
                 t0 ? combine(at.load(total), at.load(block)) : at.load(block));
      });
    }
    forEachVector(count,
                  [&](Lanes at) { at.store(y, at.load(total) * factor); });
  }

  /// Every result is a sum along the innermost dimension, and maybe others.
  void runRows(const T *x, T *y) const {
    pool.parallelFor(results, rowGrain(terms), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        y[i] = fromFloat<T>(one(x + offsetOf(keptGroups, i)) * factor);
    });
  }

  float one(const T *x) const {
    const float first = start()[0];
    Vector total = start();
    const int64_t outer = inner ? terms / inner : 0;
    for (int64_t t = 0; t < outer; ++t) {
      const T *row = x + offsetOf(reducedGroups, t);
      for (int64_t at = 0; at < inner; at += kBlock * kLanes) {
        Vector block = start();
        const T *part = row + at;
        forEachVector(std::min(kBlock * kLanes, inner - at), [&](Lanes lanes) {
          block = combine(block, lanes.fill(lanes.load(part), first));
        });
        total = combine(total, block);
      }
    }
    return kind == ReduceKind::Max ? largest(total) : sumOf(total);
  }

  static float largest(Vector v) {
    float result = v[0];
    for (int i = 1; i < kLanes; ++i)
      result = v[i] != v[i] || v[i] > result ? v[i] : result;
    return result;
  }

  static constexpr int64_t kChunk = 256; // columns
  static constexpr int64_t kBlock = 64;  // rows, or vectors

  ThreadPool &pool;
  const ReduceKind kind;
  std::vector<Group> keptGroups, reducedGroups;
  int64_t inner = 1, terms = 1, results = 1;
  bool innerKept = true;
  float factor = 1;
};

} // namespace

void registerReduce(Registry &registry) {
  registry.add("nn.reduce", makeByOperand<Reduce>);
}

} // namespace zrt::host
