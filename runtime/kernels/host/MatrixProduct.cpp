#include "kernels/host/MatrixProduct.h"

#include "kernels/host/Host.h"

#include <dnnl.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int);
}

namespace zrt::host {

namespace {

/// While it lives, oneDNN prepares primitives for one thread, and runs them on
/// the thread that calls.
class OneThread {
public:
  OneThread() : before(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before); }

private:
  int before;
};

dnnl::memory::data_type dnnlType(DataType type) {
  return type == DataType::BF16 ? dnnl::memory::data_type::bf16
                                : dnnl::memory::data_type::f32;
}

/// bf16 is only worth its name where the machine multiplies it; f16 never is
/// in this oneDNN. Elsewhere products run in f32, from copies.
bool computesIn(DataType type) {
  if (type == DataType::F32)
    return true;
  if (type != DataType::BF16)
    return false;
  dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  return isa == dnnl::cpu_isa::avx512_core_bf16 ||
         isa == dnnl::cpu_isa::avx512_core_amx;
}

const dnnl::engine &engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

/// How one dimension is cut: `count` blocks of `size`, the last maybe smaller.
struct Cut {
  int64_t extent, size, count;
  /// Into at most `parts` blocks of a multiple of `step`.
  Cut(int64_t extent, int64_t parts, int64_t step) : extent(extent) {
    size = (extent + parts - 1) / parts;
    size = std::min(extent, (size + step - 1) / step * step);
    count = (extent + size - 1) / size;
  }
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
    return Cut(extent, std::clamp<int64_t>(parts, 1, mostParts),
               large ? coarse : fine);
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
  dnnl::stream stream;
  Block blocks[2][2];               // [row tail][column tail]
  std::vector<Arguments> arguments; // [worker][row tail][column tail]
  size_t scratchBytes = 0;          // of one worker
  size_t aBytes = 0, bBytes = 0, biasBytes = 0, cBytes = 0; // f32 copies

  Impl(const MatrixShape &shape, ThreadPool &pool)
      : shape(shape), pool(pool),
        compute(computesIn(shape.type) ? shape.type : DataType::F32),
        rows(Cuts(shape).rows), columns(Cuts(shape).columns), stream(engine()) {
    OneThread scope;
    for (int r = 0; r < 2; ++r)
      for (int c = 0; c < 2; ++c)
        if ((!r || rows.hasTail()) && (!c || columns.hasTail()))
          prepare(blocks[r][c], r ? rows.tail() : rows.size,
                  c ? columns.tail() : columns.size);
    scratchBytes = padded(scratchBytes);
    arguments.resize(pool.threads() * 4);
    for (size_t i = 0; i < arguments.size(); ++i)
      bind(arguments[i], blocks[i / 2 % 2][i % 2]);
    if (compute != shape.type) {
      aBytes = padded(shape.batch * shape.m * shape.k * sizeof(float));
      bBytes = padded(shape.batch * shape.k * shape.n * sizeof(float));
      biasBytes = shape.bias ? padded(shape.n * sizeof(float)) : 0;
      cBytes = padded(shape.batch * shape.m * shape.n * sizeof(float));
    }
  }

  void prepare(Block &block, int64_t m, int64_t n) {
    using Dims = dnnl::memory::dims;
    dnnl::memory::data_type type = dnnlType(compute);
    block.a = {{m, shape.k},
               type,
               shape.transposedA ? Dims{1, shape.m} : Dims{shape.k, 1}};
    block.b = {{shape.k, n},
               type,
               shape.transposedB ? Dims{1, shape.k} : Dims{shape.n, 1}};
    block.c = {{m, n}, type, Dims{shape.n, 1}};
    block.bias = {{1, n}, type, Dims{n, 1}};
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::matmul::desc description =
        shape.bias ? dnnl::matmul::desc(block.a, block.b, block.bias, block.c)
                   : dnnl::matmul::desc(block.a, block.b, block.c);
    dnnl::matmul::primitive_desc made(description, attributes, engine());
    block.primitive = dnnl::matmul(made);
    block.scratch = made.scratchpad_desc();
    scratchBytes = std::max(scratchBytes, block.scratch.get_size());
  }

  void bind(Arguments &to, const Block &block) {
    if (!block.primitive)
      return;
    to.a = dnnl::memory(block.a, engine(), nullptr);
    to.b = dnnl::memory(block.b, engine(), nullptr);
    to.bias = dnnl::memory(block.bias, engine(), nullptr);
    to.c = dnnl::memory(block.c, engine(), nullptr);
    to.scratch = dnnl::memory(block.scratch, engine(), nullptr);
    to.list[0] = {DNNL_ARG_SRC, to.a.get()};
    to.list[1] = {DNNL_ARG_WEIGHTS, to.b.get()};
    to.list[2] = {DNNL_ARG_DST, to.c.get()};
    to.list[3] = {DNNL_ARG_SCRATCHPAD, to.scratch.get()};
    to.list[4] = {DNNL_ARG_BIAS, to.bias.get()};
  }

  void runBlock(int64_t unit, int worker, const char *a, const char *b,
                const char *bias, char *c, char *scratch) {
    int64_t column = unit % columns.count;
    int64_t row = unit / columns.count % rows.count;
    int64_t item = unit / columns.count / rows.count;
    int64_t i = row * rows.size, j = column * columns.size;
    bool rowTail = rows.hasTail() && row == rows.count - 1;
    bool columnTail = columns.hasTail() && column == columns.count - 1;
    Arguments &to = arguments[worker * 4 + rowTail * 2 + columnTail];
    size_t bytes = sizeOf(compute);
    int64_t aAt =
        item * shape.m * shape.k + i * (shape.transposedA ? 1 : shape.k);
    int64_t bAt =
        item * shape.k * shape.n + j * (shape.transposedB ? shape.k : 1);
    int64_t cAt = item * shape.m * shape.n + i * shape.n + j;
    setAddress(to.a, a + aAt * bytes);
    setAddress(to.b, b + bAt * bytes);
    setAddress(to.c, c + cAt * bytes);
    setAddress(to.scratch, scratch + worker * scratchBytes);
    if (shape.bias)
      setAddress(to.bias, bias + j * bytes);
    check(dnnl_primitive_execute(blocks[rowTail][columnTail].primitive.get(),
                                 stream.get(), shape.bias ? 5 : 4, to.list));
  }

  static void setAddress(dnnl::memory &memory, const void *address) {
    check(
        dnnl_memory_set_data_handle(memory.get(), const_cast<void *>(address)));
  }

  static void check(dnnl_status_t status) {
    if (status != dnnl_success)
      throw std::runtime_error("matrix product: oneDNN reports status " +
                               std::to_string(status));
  }

  void multiply(const void *a, const void *b, const void *bias, void *c,
                char *scratch) {
    OneThread scope;
    pool.parallelForWorkers(shape.batch * rows.count * columns.count, 1,
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

  template <typename T>
  void multiplyWidened(const void *a, const void *b, const void *bias, void *c,
                       char *workspace) {
    float *wideA = widen<T>(a, workspace, shape.batch * shape.m * shape.k);
    workspace += aBytes;
    float *wideB = widen<T>(b, workspace, shape.batch * shape.k * shape.n);
    workspace += bBytes;
    float *wideBias = shape.bias ? widen<T>(bias, workspace, shape.n) : nullptr;
    workspace += biasBytes;
    float *wideC = reinterpret_cast<float *>(workspace);
    multiply(wideA, wideB, wideBias, wideC, workspace + cBytes);
    pool.parallelFor(shape.batch * shape.m * shape.n, 65536,
                     [&](int64_t begin, int64_t end) {
                       convertFromFloat(wideC + begin,
                                        static_cast<T *>(c) + begin,
                                        end - begin);
                     });
  }
};

MatrixProduct::MatrixProduct(const MatrixShape &shape, ThreadPool &pool) {
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
  return impl->aBytes + impl->bBytes + impl->biasBytes + impl->cBytes +
         impl->scratchBytes * impl->pool.threads();
}

void MatrixProduct::run(const void *a, const void *b, const void *bias, void *c,
                        void *workspace) {
  char *scratch = static_cast<char *>(workspace);
  if (impl->compute == impl->shape.type)
    impl->multiply(a, b, bias, c, scratch);
  else if (impl->shape.type == DataType::BF16)
    impl->multiplyWidened<BFloat16>(a, b, bias, c, scratch);
  else
    impl->multiplyWidened<Float16>(a, b, bias, c, scratch);
}

} // namespace zrt::host
