#include "kernels/host/MatrixProduct.h"

#include "kernels/host/Host.h"
#include "kernels/host/OneDnn.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace zrt::host {

namespace {

/// How one dimension is cut: `count` blocks of `size`, the last maybe smaller.
struct Cut {
  int64_t extent, size, count;
  /// Into at most `parts` blocks of a multiple of `step`.
  Cut(int64_t extent, int64_t parts, int64_t step)
      : Cut(extent, ((extent + parts - 1) / parts + step - 1) / step * step) {}
  Cut(int64_t extent, int64_t most)
      : extent(extent), size(std::min(extent, most)),
        count((extent + size - 1) / size) {}
  bool hasTail() const { return extent % size != 0; }
  int64_t tail() const { return extent - (count - 1) * size; }
};

/// The blocks of a product, from its shape alone. oneDNN copies a transposed
/// operand, so the result is cut along that operand's own dimension, where
/// nothing is copied twice. The other operand is read once a block: where it
/// is too large for a cache, blocks are wider, and cut along both dimensions.
struct Cuts {
  Cut rows, columns;
  explicit Cuts(const MatrixShape &s)
      : rows(make(s, cutsRows(s), s.m, s.n)),
        columns(make(s, !cutsRows(s), s.n, s.m)) {}

private:
  static bool cutsRows(const MatrixShape &s) {
    if (s.transposedA != s.transposedB)
      return s.transposedA;
    return s.m >= s.n;
  }

  static Cut make(const MatrixShape &s, bool first, int64_t extent,
                  int64_t other) {
    constexpr int64_t blockWork = 1 << 22; // multiply-adds: some 50 us
    constexpr int64_t cached = 1 << 19;    // elements
    constexpr int64_t mostParts = 16, fine = 64, coarsest = 1024;
    const int64_t coarse =
        std::clamp<int64_t>(extent / 4, 128, 256) / fine * fine;
    bool large = (first ? other : extent) * s.k > cached;
    if (!first)
      return Cut(extent, large ? mostParts : 1, coarsest);
    int64_t parts = s.m * s.n * s.k / blockWork;
    Cut cut(extent, std::clamp<int64_t>(parts, 1, mostParts),
            large ? coarse : fine);
    // The form of a weight's gradient, which is made in blocks of rows: those
    // that begin at multiples of 1024 begin with a block of the product.
    if (s.transposedA && cutsRows(s))
      return Cut(extent, powerOfTwo(cut.size));
    return cut;
  }

  /// The least from 64 to 1024 that is not below `size`, or 1024.
  static int64_t powerOfTwo(int64_t size) {
    int64_t power = 64;
    while (power < size && power < 1024)
      power *= 2;
    return power;
  }
};

} // namespace

struct MatrixProduct::Impl {
  /// A primitive for one size of block.
  struct Block {
    dnnl::matmul primitive;
    dnnl::memory::desc a, b, bias, c, scratch;
  };
  /// What one worker passes to `execute`: addresses change, objects do not.
  struct Arguments {
    dnnl::memory a, b, bias, c, scratch;
    dnnl_exec_arg_t list[5];
  };

  MatrixShape shape;
  ThreadPool &pool;
  DataType compute;
  const Cut rows, columns;
  const int64_t firstBlock, lastBlock; // of rows
  dnnl::stream stream;
  Block blocks[2][2];               // [row tail][column tail]
  std::vector<Arguments> arguments; // [worker][row tail][column tail]
  size_t scratchBytes = 0;          // of one worker
  size_t partBytes = 0;             // a block of which some rows are wanted
  size_t aBytes = 0, bBytes = 0, biasBytes = 0, cBytes = 0; // f32 copies

  Impl(const MatrixShape &shape, ThreadPool &pool)
      : shape(shape), pool(pool),
        compute(computesIn(shape.type) ? shape.type : DataType::F32),
        rows(Cuts(shape).rows), columns(Cuts(shape).columns),
        firstBlock(shape.firstRow / rows.size),
        lastBlock((shape.lastRow + rows.size - 1) / rows.size),
        stream(dnnlEngine()) {
    OneThread scope;
    for (int r = 0; r < 2; ++r)
      for (int c = 0; c < 2; ++c)
        if ((!r || rows.hasTail()) && (!c || columns.hasTail()))
          prepare(blocks[r][c], r ? rows.tail() : rows.size,
                  c ? columns.tail() : columns.size);
    scratchBytes = padded(scratchBytes);
    if (shape.firstRow % rows.size ||
        (shape.lastRow % rows.size && shape.lastRow < shape.m))
      partBytes = padded(rows.size * shape.n * sizeOf(compute));
    arguments.resize(pool.threads() * 4);
    for (size_t i = 0; i < arguments.size(); ++i)
      bind(arguments[i], blocks[i / 2 % 2][i % 2]);
    if (compute != shape.type) {
      aBytes = padded(shape.batch * shape.m * shape.k * sizeof(float));
      bBytes = padded(shape.batch * shape.k * shape.n * sizeof(float));
      biasBytes = shape.bias ? padded(shape.n * sizeof(float)) : 0;
      cBytes =
          shape.adds
              ? 0
              : padded(shape.batch * wantedRows() * shape.n * sizeof(float));
    }
  }

  int64_t wantedRows() const { return shape.lastRow - shape.firstRow; }
  int64_t rowBlocks() const { return lastBlock - firstBlock; }
  size_t workerBytes() const { return scratchBytes + partBytes; }

  void prepare(Block &block, int64_t m, int64_t n) {
    using Dims = dnnl::memory::dims;
    dnnl::memory::data_type type = dnnlType(compute);
    block.a = {{m, shape.k},
               type,
               shape.transposedA ? Dims{1, shape.m} : Dims{shape.k, 1}};
    block.b = {{shape.k, n},
               type,
               shape.transposedB ? Dims{1, shape.k} : Dims{shape.n, 1}};
    block.c = {{m, n},
               shape.adds ? dnnl::memory::data_type::f32 : type,
               Dims{shape.n, 1}};
    block.bias = {{1, n}, type, Dims{n, 1}};
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (shape.adds) {
      dnnl::post_ops after;
      after.append_sum(1.0f);
      attributes.set_post_ops(after);
    }
    dnnl::matmul::desc description =
        shape.bias ? dnnl::matmul::desc(block.a, block.b, block.bias, block.c)
                   : dnnl::matmul::desc(block.a, block.b, block.c);
    dnnl::matmul::primitive_desc made(description, attributes, dnnlEngine());
    block.primitive = dnnl::matmul(made);
    block.scratch = made.scratchpad_desc();
    scratchBytes = std::max(scratchBytes, block.scratch.get_size());
  }

  void bind(Arguments &to, const Block &block) {
    if (!block.primitive)
      return;
    to.a = dnnl::memory(block.a, dnnlEngine(), nullptr);
    to.b = dnnl::memory(block.b, dnnlEngine(), nullptr);
    to.bias = dnnl::memory(block.bias, dnnlEngine(), nullptr);
    to.c = dnnl::memory(block.c, dnnlEngine(), nullptr);
    to.scratch = dnnl::memory(block.scratch, dnnlEngine(), nullptr);
    to.list[0] = {DNNL_ARG_SRC, to.a.get()};
    to.list[1] = {DNNL_ARG_WEIGHTS, to.b.get()};
    to.list[2] = {DNNL_ARG_DST, to.c.get()};
    to.list[3] = {DNNL_ARG_SCRATCHPAD, to.scratch.get()};
    to.list[4] = {DNNL_ARG_BIAS, to.bias.get()};
  }

  void runBlock(int64_t unit, int worker, const char *a, const char *b,
                const char *bias, char *c, char *scratch) {
    int64_t column = unit % columns.count;
    int64_t row = firstBlock + unit / columns.count % rowBlocks();
    int64_t item = unit / columns.count / rowBlocks();
    int64_t i = row * rows.size, j = column * columns.size;
    bool rowTail = rows.hasTail() && row == rows.count - 1;
    bool columnTail = columns.hasTail() && column == columns.count - 1;
    int64_t end = i + (rowTail ? rows.tail() : rows.size);
    bool isPart = i < shape.firstRow || end > shape.lastRow;
    Arguments &to = arguments[worker * 4 + rowTail * 2 + columnTail];
    size_t bytes = sizeOf(compute);
    scratch += worker * workerBytes();
    int64_t aAt =
        item * shape.m * shape.k + i * (shape.transposedA ? 1 : shape.k);
    int64_t bAt =
        item * shape.k * shape.n + j * (shape.transposedB ? shape.k : 1);
    int64_t cAt = (item * wantedRows() + i - shape.firstRow) * shape.n + j;
    char *part = scratch + scratchBytes;
    setAddress(to.a, a + aAt * bytes);
    setAddress(to.b, b + bAt * bytes);
    setAddress(to.c,
               isPart ? part : c + cAt * (shape.adds ? sizeof(float) : bytes));
    setAddress(to.scratch, scratch);
    if (shape.bias)
      setAddress(to.bias, bias + j * bytes);
    checkDnnl(
        dnnl_primitive_execute(blocks[rowTail][columnTail].primitive.get(),
                               stream.get(), shape.bias ? 5 : 4, to.list));
    if (!isPart)
      return;
    int64_t width = columnTail ? columns.tail() : columns.size;
    for (int64_t r = std::max(i, shape.firstRow);
         r < std::min(end, shape.lastRow); ++r)
      std::memcpy(c + ((r - shape.firstRow) * shape.n + j) * bytes,
                  part + (r - i) * shape.n * bytes, width * bytes);
  }

  static void setAddress(dnnl::memory &memory, const void *address) {
    checkDnnl(
        dnnl_memory_set_data_handle(memory.get(), const_cast<void *>(address)));
  }

  void multiply(const void *a, const void *b, const void *bias, void *c,
                char *scratch) {
    OneThread scope;
    pool.parallelForWorkers(shape.batch * rowBlocks() * columns.count, 1,
                            [&](int64_t begin, int64_t end, int worker) {
                              for (int64_t unit = begin; unit < end; ++unit)
                                runBlock(unit, worker,
                                         static_cast<const char *>(a),
                                         static_cast<const char *>(b),
                                         static_cast<const char *>(bias),
                                         static_cast<char *>(c), scratch);
                            });
  }

  template <typename T>
  float *widen(const void *from, char *to, int64_t count) {
    float *wide = reinterpret_cast<float *>(to);
    pool.parallelFor(count, 65536, [&](int64_t begin, int64_t end) {
      convertToFloat(static_cast<const T *>(from) + begin, wide + begin,
                     end - begin);
    });
    return wide;
  }

  /// The left operand in f32, where the blocks of rows read it.
  template <typename T> float *widenLeft(const void *from, char *to) {
    int64_t first = firstBlock * rows.size;
    int64_t last = std::min(lastBlock * rows.size, shape.m);
    if (!shape.transposedA || last - first == shape.m)
      return widen<T>(from, to, shape.batch * shape.m * shape.k);
    float *wide = reinterpret_cast<float *>(to);
    pool.parallelFor(
        shape.k, 1 + 65536 / (last - first), [&](int64_t begin, int64_t end) {
          for (int64_t k = begin; k < end; ++k)
            convertToFloat(static_cast<const T *>(from) + k * shape.m + first,
                           wide + k * shape.m + first, last - first);
        });
    return wide;
  }

  template <typename T>
  void multiplyWidened(const void *a, const void *b, const void *bias, void *c,
                       char *workspace) {
    float *wideA = widenLeft<T>(a, workspace);
    workspace += aBytes;
    float *wideB = widen<T>(b, workspace, shape.batch * shape.k * shape.n);
    workspace += bBytes;
    float *wideBias = shape.bias ? widen<T>(bias, workspace, shape.n) : nullptr;
    workspace += biasBytes;
    if (shape.adds)
      return multiply(wideA, wideB, wideBias, c, workspace);
    float *wideC = reinterpret_cast<float *>(workspace);
    multiply(wideA, wideB, wideBias, wideC, workspace + cBytes);
    pool.parallelFor(shape.batch * wantedRows() * shape.n, 65536,
                     [&](int64_t begin, int64_t end) {
                       convertFromFloat(wideC + begin,
                                        static_cast<T *>(c) + begin,
                                        end - begin);
                     });
  }
};

MatrixProduct::MatrixProduct(MatrixShape wanted, ThreadPool &pool)
    : shape(wanted) {
  if (shape.lastRow < 0)
    shape.lastRow = shape.m;
  if (shape.batch * shape.m * shape.n * shape.k == 0)
    return;
  try {
    impl = std::make_unique<Impl>(shape, pool);
  } catch (const dnnl::error &error) {
    throw std::invalid_argument(
        std::string("matrix product: oneDNN refuses ") +
        std::to_string(shape.m) + " x " + std::to_string(shape.k) + " times " +
        std::to_string(shape.k) + " x " + std::to_string(shape.n) + " of " +
        nameOf(shape.type) + ": " + error.what());
  }
}

MatrixProduct::~MatrixProduct() = default;

size_t MatrixProduct::workspaceBytes() const {
  if (!impl)
    return 0;
  return impl->aBytes + impl->bBytes + impl->biasBytes + impl->cBytes +
         impl->workerBytes() * impl->pool.threads();
}

/// Sums over no terms: zeros, or the bias.
void MatrixProduct::runWithoutTerms(const void *bias, void *c) const {
  if (shape.adds)
    return;
  const int64_t rows = shape.batch * (shape.lastRow - shape.firstRow);
  const size_t bytes = shape.n * sizeOf(shape.type);
  for (int64_t row = 0; row < rows; ++row) {
    char *to = static_cast<char *>(c) + row * bytes;
    if (shape.bias)
      std::memcpy(to, bias, bytes);
    else
      std::memset(to, 0, bytes);
  }
}

void MatrixProduct::run(const void *a, const void *b, const void *bias, void *c,
                        void *workspace) {
  if (!impl)
    return runWithoutTerms(bias, c);
  char *scratch = static_cast<char *>(workspace);
  if (impl->compute == impl->shape.type)
    impl->multiply(a, b, bias, c, scratch);
  else if (impl->shape.type == DataType::BF16)
    impl->multiplyWidened<BFloat16>(a, b, bias, c, scratch);
  else
    impl->multiplyWidened<Float16>(a, b, bias, c, scratch);
}

} // namespace zrt::host
