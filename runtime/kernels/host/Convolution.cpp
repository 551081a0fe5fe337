// nn.conv, nn.conv_transpose and nn.conv_weight_grad: products of the weights
// with the columns of one sample after the other, in f32.
//
// Results of a sample are bitwise equal for any number of samples, and a row of
// a gradient of weights for any range of rows.
#include "kernels/host/Columns.h"
#include "kernels/host/Host.h"
#include "kernels/host/MatrixProduct.h"

#include <algorithm>
#include <type_traits>

namespace zrt::host {

namespace {

/// Images [samples, channels, plane], weights [features, channels / groups,
/// taps] and results [samples, features, count].
struct Geometry {
  Geometry(const KernelSpec &spec, const TensorType &images,
           const TensorType &weights, const TensorType &results)
      : windows(windowsOf(spec, images, results,
                          {weights.shape.begin() + 2, weights.shape.end()})),
        samples(images.shape[0]), channels(images.shape[1]),
        features(results.shape[1]), groups(spec.integer("groups")),
        count(windows.count()), depth(channels / groups * windows.taps()) {}

  Windows windows;
  int64_t samples, channels, features, groups, count;
  int64_t depth; ///< elements that a feature sees of a window

  int64_t imageElements() const { return channels * windows.plane(); }
  int64_t resultElements() const { return features * count; }
  int64_t weightElements() const { return features * depth; }
  int64_t columnElements() const { return groups * depth * count; }
};

/// Parts of a workspace, one after the other.
class Parts {
public:
  /// The offset of `elements` floats.
  size_t add(int64_t elements) {
    const size_t offset = bytes;
    bytes += padded(elements * sizeof(float));
    return offset;
  }
  size_t bytes = 0;
};

float *partAt(void *workspace, size_t offset) {
  return reinterpret_cast<float *>(static_cast<char *>(workspace) + offset);
}

/// `from` as f32: itself, or a copy at `to`.
template <typename T>
const float *widened(ThreadPool &pool, const T *from, float *to,
                     int64_t elements) {
  if constexpr (std::is_same_v<T, float>)
    return from;
  pool.parallelFor(elements, 65536, [&](int64_t begin, int64_t end) {
    convertToFloat(from + begin, to + begin, end - begin);
  });
  return to;
}

template <typename T>
void narrow(ThreadPool &pool, const float *from, T *to, int64_t elements) {
  pool.parallelFor(elements, 65536, [&](int64_t begin, int64_t end) {
    convertFromFloat(from + begin, to + begin, end - begin);
  });
}

template <typename T> constexpr bool kIsFloat = std::is_same_v<T, float>;

/// Rows of groups of features, from the columns of a sample.
template <typename T> class Convolution final : public Kernel {
public:
  Convolution(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool),
        shape(spec, spec.operands[0], spec.operands[1], spec.results[0]),
        asIs(kIsFloat<T> && shape.windows.arePoints()),
        product(productOf(shape), pool) {
    columns = parts.add(asIs ? 0 : shape.columnElements());
    weights = parts.add(kIsFloat<T> ? 0 : shape.weightElements());
    result = parts.add(kIsFloat<T> ? 0 : shape.resultElements());
  }

  size_t workspaceBytes() const override {
    return parts.bytes + product.workspaceBytes();
  }

  void run(void *const *buffers, void *workspace) override {
    const T *x = at<T>(buffers, 0);
    T *y = at<T>(buffers, 2);
    const float *w =
        widened(pool, at<T>(buffers, 1), partAt(workspace, weights),
                shape.weightElements());
    void *scratch = partAt(workspace, parts.bytes);
    for (int64_t n = 0; n < shape.samples; ++n) {
      const T *image = x + n * shape.imageElements();
      T *to = y + n * shape.resultElements();
      const void *seen = image;
      if (!asIs) {
        float *copy = partAt(workspace, columns);
        unfold(pool, shape.windows, shape.channels, image, copy, shape.count);
        seen = copy;
      }
      if constexpr (kIsFloat<T>) {
        product.run(w, seen, nullptr, to, scratch);
      } else {
        float *wide = partAt(workspace, result);
        product.run(w, seen, nullptr, wide, scratch);
        narrow(pool, wide, to, shape.resultElements());
      }
    }
  }

private:
  static MatrixShape productOf(const Geometry &shape) {
    MatrixShape product;
    product.batch = shape.groups;
    product.m = shape.features / shape.groups;
    product.n = shape.count;
    product.k = shape.depth;
    return product;
  }

  ThreadPool &pool;
  Geometry shape;
  bool asIs; ///< the images are their columns
  MatrixProduct product;
  Parts parts;
  size_t columns, weights, result;
};

/// Columns from groups of features of a sample, folded to images.
template <typename T> class TransposedConvolution final : public Kernel {
public:
  TransposedConvolution(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool),
        shape(spec, spec.results[0], spec.operands[1], spec.operands[0]),
        asIs(kIsFloat<T> && shape.windows.arePoints()),
        product(productOf(shape), pool) {
    columns = parts.add(asIs ? 0 : shape.columnElements());
    weights = parts.add(kIsFloat<T> ? 0 : shape.weightElements());
    operand = parts.add(kIsFloat<T> ? 0 : shape.resultElements());
    planes = parts.bytes;
    if (!asIs)
      parts.bytes += foldBytes(pool, shape.windows);
  }

  size_t workspaceBytes() const override {
    return parts.bytes + product.workspaceBytes();
  }

  void run(void *const *buffers, void *workspace) override {
    const T *x = at<T>(buffers, 0);
    T *y = at<T>(buffers, 2);
    const float *w =
        widened(pool, at<T>(buffers, 1), partAt(workspace, weights),
                shape.weightElements());
    void *scratch = partAt(workspace, parts.bytes);
    for (int64_t n = 0; n < shape.samples; ++n) {
      const float *from =
          widened(pool, x + n * shape.resultElements(),
                  partAt(workspace, operand), shape.resultElements());
      T *image = y + n * shape.imageElements();
      if (asIs) {
        product.run(w, from, nullptr, image, scratch);
        continue;
      }
      float *seen = partAt(workspace, columns);
      product.run(w, from, nullptr, seen, scratch);
      fold(pool, shape.windows, shape.channels, seen, image,
           partAt(workspace, planes));
    }
  }

private:
  static MatrixShape productOf(const Geometry &shape) {
    MatrixShape product;
    product.batch = shape.groups;
    product.m = shape.depth;
    product.n = shape.count;
    product.k = shape.features / shape.groups;
    product.transposedA = true;
    return product;
  }

  ThreadPool &pool;
  Geometry shape;
  bool asIs; ///< the columns are the images
  MatrixProduct product;
  Parts parts;
  size_t columns, weights, operand, planes;
};

/// Samples are taken several at a time, so that sums are long enough for a
/// product; how many follows from the shape.
template <typename T> class WeightGradient final : public Kernel {
public:
  WeightGradient(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool),
        shape(spec, spec.operands[1], spec.results[0], spec.operands[0]),
        rows(rowRange(spec, shape.features)),
        chunk(std::clamp<int64_t>((kTerms + shape.count - 1) / shape.count, 1,
                                  std::max<int64_t>(shape.samples, 1))),
        product(productOf(chunk), pool),
        last(productOf(shape.samples % chunk), pool) {
    columns = parts.add(chunk * shape.columnElements());
    gradient = parts.add(chunk * shape.resultElements());
    sum = parts.add(elements());
    part = parts.add(elements());
  }

  size_t workspaceBytes() const override {
    return parts.bytes +
           std::max(product.workspaceBytes(), last.workspaceBytes());
  }

  void run(void *const *buffers, void *workspace) override {
    const T *dy = at<T>(buffers, 0), *x = at<T>(buffers, 1);
    float *total = partAt(workspace, sum), *next = partAt(workspace, part);
    std::fill(total, total + elements(), 0.0f);
    for (int64_t first = 0; first < shape.samples; first += chunk) {
      const int64_t count = std::min(chunk, shape.samples - first);
      gather(dy, x, first, count, workspace);
      MatrixProduct &multiply = count == chunk ? product : last;
      multiply.run(partAt(workspace, gradient), partAt(workspace, columns),
                   nullptr, next, partAt(workspace, parts.bytes));
      pool.parallelFor(elements(), 65536, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          total[i] += next[i];
      });
    }
    narrow(pool, total, at<T>(buffers, 2), elements());
  }

private:
  static constexpr int64_t kTerms = 512;

  int64_t elements() const { return (rows.last - rows.first) * shape.depth; }

  /// Columns and gradients of `count` samples, side by side.
  void gather(const T *dy, const T *x, int64_t first, int64_t count,
              void *workspace) {
    const int64_t length = count * shape.count;
    for (int64_t i = 0; i < count; ++i) {
      const T *from = dy + (first + i) * shape.resultElements();
      float *to = partAt(workspace, gradient) + i * shape.count;
      pool.parallelFor(shape.features, rowGrain(shape.count),
                       [&](int64_t begin, int64_t end) {
                         for (int64_t f = begin; f < end; ++f)
                           convertToFloat(from + f * shape.count,
                                          to + f * length, shape.count);
                       });
      unfold(pool, shape.windows, shape.channels,
             x + (first + i) * shape.imageElements(),
             partAt(workspace, columns) + i * shape.count, length);
    }
  }

  MatrixShape productOf(int64_t samples) const {
    MatrixShape product;
    product.batch = shape.groups;
    product.m = shape.features / shape.groups;
    product.n = shape.depth;
    product.k = samples * shape.count;
    product.transposedB = true;
    if (shape.groups == 1) {
      product.firstRow = rows.first;
      product.lastRow = rows.last;
    }
    return product;
  }

  ThreadPool &pool;
  Geometry shape;
  RowRange rows; ///< all of them where there are several groups
  int64_t chunk; ///< samples
  MatrixProduct product, last;
  Parts parts;
  size_t columns, gradient, sum, part;
};

} // namespace

void registerConvolution(Registry &registry) {
  registry.add("nn.conv", makeByOperand<Convolution>);
  registry.add("nn.conv_transpose", makeByOperand<TransposedConvolution>);
  registry.add("nn.conv_weight_grad", makeByOperand<WeightGradient>);
}

} // namespace zrt::host
