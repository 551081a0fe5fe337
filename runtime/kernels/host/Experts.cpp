// nn.dispatch, nn.capacity_dispatch, nn.combine and nn.combine_grad: rows that
// are copied to their experts, and come back. Choices are counted by one
// thread, rows are copied and added up by all.
#include "kernels/Vector.h"
#include "kernels/host/Host.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

namespace zrt::host {

namespace {

/// Rows of `width` elements, chosen `choices` times each, of `count` rows; and
/// `places` of what is sorted.
struct Sizes {
  int64_t count, choices, width, places;

  Sizes(const TensorType &rows, const TensorType &ids, const TensorType &sorted)
      : count(rows.shape[0]), choices(ids.shape[1]), width(rows.shape[1]),
        places(sorted.shape[0]) {}
};

/// Throws std::out_of_range where choice `c` is of no expert.
void checkExpert(const char *kernel, const int32_t *ids, int64_t c,
                 int64_t choices, int64_t experts) {
  if (ids[c] < 0 || ids[c] >= experts)
    throw std::out_of_range(
        std::string(kernel) + ": expert " + std::to_string(ids[c]) +
        ", choice " + std::to_string(c % choices) + " of row " +
        std::to_string(c / choices) + ", is outside 0 .. " +
        std::to_string(experts - 1) + "; check the routing");
}

template <typename T>
void copyToPlaces(ThreadPool &pool, const Sizes &s, const T *rows,
                  const int32_t *places, T *sorted) {
  pool.parallelFor(
      s.count, rowGrain(s.width * s.choices), [&](int64_t begin, int64_t end) {
        for (int64_t c = begin * s.choices; c < end * s.choices; ++c)
          if (places[c] >= 0)
            std::memcpy(sorted + places[c] * s.width,
                        rows + c / s.choices * s.width, s.width * sizeof(T));
      });
}

template <typename T> class Dispatch final : public Kernel {
public:
  Dispatch(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool),
        s(spec.operands[0], spec.operands[1], spec.results[0]),
        experts(spec.integer("experts")), groups(spec.results[2].shape[0]),
        hasFirst(spec.operands.size() == 3) {
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (s.count * s.choices > most || s.places > most)
      refuse(spec, "more than 2^31 - 1 choices or rows");
  }

  size_t workspaceBytes() const override {
    return (groups + 1) * sizeof(int64_t);
  }

  void run(void *const *buffers, void *workspace) override {
    const T *rows = at<T>(buffers, 0);
    const int32_t *ids = at<int32_t>(buffers, 1);
    const int32_t first = hasFirst ? *at<int32_t>(buffers, 2) : 0;
    void *const *results = buffers + (hasFirst ? 3 : 2);
    T *sorted = at<T>(results, 0);
    int32_t *places = at<int32_t>(results, 1);
    int32_t *offsets = at<int32_t>(results, 2);
    place(ids, first, static_cast<int64_t *>(workspace), places, offsets);
    const int64_t used = groups ? offsets[groups - 1] : 0;
    std::memset(static_cast<void *>(sorted + used * s.width), 0,
                (s.places - used) * s.width * sizeof(T));
    copyToPlaces(pool, s, rows, places, sorted);
  }

private:
  /// The group of a choice; -1 where it has none.
  int64_t groupOf(int32_t id, int32_t first) const {
    const int64_t group = int64_t(id) - first;
    return group >= 0 && group < groups ? group : -1;
  }

  /// `next`: where the next row of each group comes, one more than there are.
  void place(const int32_t *ids, int32_t first, int64_t *next, int32_t *places,
             int32_t *offsets) const {
    const int64_t all = s.count * s.choices;
    std::fill_n(next, groups + 1, 0);
    for (int64_t c = 0; c < all; ++c) {
      checkExpert("nn.dispatch", ids, c, s.choices, experts);
      if (const int64_t group = groupOf(ids[c], first); group >= 0)
        ++next[group + 1];
    }
    for (int64_t e = 0; e < groups; ++e) {
      next[e + 1] += next[e];
      offsets[e] = int32_t(std::min(next[e + 1], s.places));
    }
    for (int64_t c = 0; c < all; ++c) {
      const int64_t group = groupOf(ids[c], first);
      const int64_t to = group < 0 ? s.places : next[group]++;
      places[c] = to < s.places ? int32_t(to) : -1;
    }
  }

  ThreadPool &pool;
  Sizes s;
  int64_t experts, groups;
  bool hasFirst;
};

template <typename T> class CapacityDispatch final : public Kernel {
public:
  CapacityDispatch(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool),
        s(spec.operands[0], spec.operands[1], spec.results[0]),
        experts(spec.results[0].shape[0]), capacity(spec.results[0].shape[1]),
        hasOrder(spec.operands.size() == 3) {
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    s.places = experts * capacity;
    if (s.count * s.choices > most || s.places > most)
      refuse(spec, "more than 2^31 - 1 choices or places");
  }

  void run(void *const *buffers, void *) override {
    const T *rows = at<T>(buffers, 0);
    const int32_t *ids = at<int32_t>(buffers, 1);
    const int32_t *order = hasOrder ? at<int32_t>(buffers, 2) : nullptr;
    void *const *results = buffers + (hasOrder ? 3 : 2);
    T *sorted = at<T>(results, 0);
    int32_t *places = at<int32_t>(results, 1);
    int32_t *counts = at<int32_t>(results, 2);
    place(ids, order, places, counts);
    for (int64_t e = 0; e < experts; ++e)
      if (const int64_t used = std::min<int64_t>(counts[e], capacity);
          used < capacity)
        std::memset(
            static_cast<void *>(sorted + (e * capacity + used) * s.width), 0,
            (capacity - used) * s.width * sizeof(T));
    copyToPlaces(pool, s, rows, places, sorted);
  }

private:
  /// The choice that is the i-th to take a place.
  int64_t choiceAt(int64_t i, const int32_t *order) const {
    if (!order)
      return i % s.count * s.choices + i / s.count;
    const int64_t all = s.count * s.choices;
    if (order[i] < 0 || order[i] >= all)
      throw std::out_of_range(
          "nn.capacity_dispatch: choice " + std::to_string(order[i]) +
          " of the order is outside 0 .. " + std::to_string(all - 1));
    return order[i];
  }

  void place(const int32_t *ids, const int32_t *order, int32_t *places,
             int32_t *counts) const {
    std::fill_n(places, s.count * s.choices, -1);
    std::fill_n(counts, experts, 0);
    for (int64_t i = 0; i < s.count * s.choices; ++i) {
      const int64_t c = choiceAt(i, order);
      checkExpert("nn.capacity_dispatch", ids, c, s.choices, experts);
      const int64_t taken = counts[ids[c]]++;
      if (taken < capacity)
        places[c] = int32_t(ids[c] * capacity + taken);
    }
  }

  ThreadPool &pool;
  Sizes s;
  int64_t experts, capacity;
  bool hasOrder;
};

/// Throws std::out_of_range where a place is neither a row nor -1.
void checkPlaces(const char *kernel, const int32_t *places, int64_t choices,
                 int64_t rows) {
  for (int64_t c = 0; c < choices; ++c)
    if (places[c] < -1 || places[c] >= rows)
      throw std::out_of_range(std::string(kernel) + ": place " +
                              std::to_string(places[c]) + " of choice " +
                              std::to_string(c) + " is outside 0 .. " +
                              std::to_string(rows - 1) +
                              "; wanted places that nn.dispatch gives, or -1");
}

template <typename T> class Combine final : public Kernel {
public:
  Combine(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool),
        s(spec.results[0], spec.operands[1], spec.operands[0]),
        hasWeights(spec.operands.size() == 3) {}

  size_t workspaceBytes() const override {
    return pool.threads() * padded(2 * s.width * sizeof(float));
  }

  void run(void *const *buffers, void *workspace) override {
    const T *rows = at<T>(buffers, 0);
    const int32_t *places = at<int32_t>(buffers, 1);
    const T *weights = hasWeights ? at<T>(buffers, 2) : nullptr;
    T *y = at<T>(buffers, hasWeights ? 3 : 2);
    checkPlaces("nn.combine", places, s.count * s.choices, s.places);
    pool.parallelForWorkers(
        s.count, rowGrain(s.width * s.choices),
        [&](int64_t begin, int64_t end, int worker) {
          auto *sum = reinterpret_cast<float *>(
              static_cast<char *>(workspace) +
              worker * padded(2 * s.width * sizeof(float)));
          float *wide = sum + s.width;
          for (int64_t t = begin; t < end; ++t) {
            std::fill_n(sum, s.width, 0.0f);
            for (int64_t c = t * s.choices; c < (t + 1) * s.choices; ++c)
              if (places[c] >= 0)
                add(rows + places[c] * s.width,
                    weights ? toFloat(weights[c]) : 1.0f, wide, sum);
            convertFromFloat(sum, y + t * s.width, s.width);
          }
        });
  }

private:
  void add(const T *row, float weight, float *wide, float *sum) const {
    convertToFloat(row, wide, s.width);
    for (int64_t i = 0; i < s.width; ++i)
      sum[i] += weight * wide[i];
  }

  ThreadPool &pool;
  Sizes s;
  bool hasWeights;
};

template <typename T> class CombineGrad final : public Kernel {
public:
  CombineGrad(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool),
        s(spec.operands[0], spec.operands[2], spec.operands[1]),
        hasWeights(spec.operands.size() == 4) {}

  void run(void *const *buffers, void *) override {
    const T *dy = at<T>(buffers, 0), *rows = at<T>(buffers, 1);
    const int32_t *places = at<int32_t>(buffers, 2);
    const T *weights = hasWeights ? at<T>(buffers, 3) : nullptr;
    T *drows = at<T>(buffers, hasWeights ? 4 : 3);
    T *dweights = hasWeights ? at<T>(buffers, 5) : nullptr;
    checkPlaces("nn.combine_grad", places, s.count * s.choices, s.places);
    std::memset(static_cast<void *>(drows), 0, s.places * s.width * sizeof(T));
    pool.parallelFor(
        s.count, rowGrain(s.width * s.choices),
        [&](int64_t begin, int64_t end) {
          for (int64_t c = begin * s.choices; c < end * s.choices; ++c) {
            const T *from = dy + c / s.choices * s.width;
            const int64_t at = places[c] * s.width;
            if (dweights)
              dweights[c] =
                  fromFloat<T>(places[c] < 0 ? 0.0f : product(from, rows + at));
            if (places[c] >= 0)
              scale(from, weights ? toFloat(weights[c]) : 1.0f, drows + at);
          }
        });
  }

private:
  /// In one order, whatever the width of a vector.
  float product(const T *a, const T *b) const {
    constexpr int64_t lanes = 16;
    float sums[lanes] = {};
    for (int64_t i = 0; i < s.width; ++i)
      sums[i % lanes] += toFloat(a[i]) * toFloat(b[i]);
    float sum = 0;
    for (float each : sums)
      sum += each;
    return sum;
  }

  void scale(const T *from, float weight, T *to) const {
    for (int64_t i = 0; i < s.width; ++i)
      to[i] = fromFloat<T>(weight * toFloat(from[i]));
  }

  ThreadPool &pool;
  Sizes s;
  bool hasWeights;
};

} // namespace

void registerExperts(Registry &registry) {
  registry.add("nn.dispatch", makeByOperand<Dispatch>);
  registry.add("nn.capacity_dispatch", makeByOperand<CapacityDispatch>);
  registry.add("nn.combine", makeByOperand<Combine>);
  registry.add("nn.combine_grad", makeByOperand<CombineGrad>);
}

} // namespace zrt::host
