// Embeddings, rotary positions and dropout on a device.
#include "kernels/cuda/Kernels.h"
#include "kernels/shapes/TensorShapes.h"

#include <algorithm>
#include <cmath>

namespace zrt::cuda {

namespace {

/// Of a range of a table, its first row is an operand.
class EmbeddingKernel final : public Kernel {
public:
  EmbeddingKernel(const KernelSpec &spec, const KernelContext &context)
      : context(context), isPartial(spec.operands.size() > 2) {
    const TensorType &table = spec.operands[1];
    tokens = spec.operands[0].elements();
    rows = table.shape[0];
    entries = spec.integer("num_embeddings", rows);
    rowBytes = table.shape[1] * int64_t(sizeOf(table.type));
  }

  void run(void *const *b, void *) override {
    const EmbeddingTable table = {b[1], rows, rowBytes, entries,
                                  isPartial ? at<int32_t>(b, 2) : nullptr};
    embedding(at<int32_t>(b, 0), tokens, table, b[isPartial ? 3 : 2],
              context.control, context.cuda->stream);
  }

private:
  KernelContext context;
  bool isPartial;
  int64_t tokens, rows, entries, rowBytes;
};

class EmbeddingGradKernel final : public Kernel {
public:
  EmbeddingGradKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), hasInit(spec.integer("init") != 0),
        isPartial(spec.name == "nn.partial_embedding_grad"),
        table(spec.results[0]), tokens(spec.operands[1].elements()),
        firstRow(rowRange(spec, table.shape[0]).first) {}

  size_t workspaceBytes() const override {
    return embeddingGradWorkspace(tokens, table.shape[1]);
  }

  void run(void *const *b, void *workspace) override {
    const int init = isPartial ? 3 : 2;
    embeddingGrad(table.type, b[0], at<int32_t>(b, 1), tokens, firstRow,
                  isPartial ? at<int32_t>(b, 2) : nullptr, table.shape[0],
                  table.shape[1], hasInit ? b[init] : nullptr,
                  b[init + hasInit], workspace, stream);
  }

private:
  cudaStream_t stream;
  bool hasInit, isPartial;
  TensorType table;
  int64_t tokens, firstRow;
};

class RotaryKernel final : public Kernel {
public:
  RotaryKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream) {
    const TensorType &x = spec.operands[0];
    arguments.type = x.type;
    arguments.interleaved = spec.integer("interleaved") != 0;
    arguments.batches = x.shape[0];
    arguments.positions = x.shape[1];
    const RowRange heads = rowRange(spec, x.shape[2], "heads");
    arguments.heads = heads.last - heads.first;
    arguments.pairs = x.shape[3] / 2;
    arguments.from = RowStrides::of(x);
    arguments.to = RowStrides::of(spec.results[0]);
    firstHead = heads.first;
    addOthers(0, heads.first);
    addOthers(heads.last, x.shape[2]);
    tabulate(spec.real("theta"), spec.integer("inverse") != 0);
  }

  void run(void *const *b, void *) override {
    RotaryArguments now = arguments;
    now.x = headOf(b[0], arguments.from, firstHead);
    now.y = headOf(b[1], arguments.to, firstHead);
    rotary(now, stream);
    if (b[0] == b[1])
      return;
    for (const Others &each : others)
      move(each.shape, sizeOf(arguments.type),
           headOf(b[0], arguments.from, each.first),
           headOf(b[1], arguments.to, each.first), stream);
  }

private:
  /// Heads that stay as they are.
  struct Others {
    int64_t first;
    StridedMove shape;
  };

  void addOthers(int64_t first, int64_t last) {
    const int64_t size[] = {arguments.batches, arguments.positions,
                            last - first, 2 * arguments.pairs};
    const RowStrides &from = arguments.from, &to = arguments.to;
    const int64_t fromStrides[] = {from.batch, from.token, from.head, 1},
                  toStrides[] = {to.batch, to.token, to.head, 1};
    StridedMove shape;
    shape.dims = 4;
    for (int dim = 0; dim < shape.dims; ++dim) {
      shape.size[dim] = size[dim];
      shape.from[dim] = fromStrides[dim];
      shape.to[dim] = toStrides[dim];
      shape.elements *= size[dim];
    }
    if (shape.elements)
      others.push_back({first, shape});
  }

  char *headOf(void *tensor, const RowStrides &strides, int64_t head) const {
    return static_cast<char *>(tensor) +
           strides.at(0, 0, head) * int64_t(sizeOf(arguments.type));
  }

  /// The host's table: cosine and sine of every position and pair.
  void tabulate(double theta, bool inverse) {
    std::vector<float> c, s;
    for (int64_t t = 0; t < arguments.positions; ++t)
      for (int64_t i = 0; i < arguments.pairs; ++i) {
        const double angle = t * std::pow(theta, -double(i) / arguments.pairs);
        c.push_back(float(std::cos(angle)));
        s.push_back(float(inverse ? -std::sin(angle) : std::sin(angle)));
      }
    cosines = std::make_unique<Table>(c);
    sines = std::make_unique<Table>(s);
    arguments.cosines = cosines->data();
    arguments.sines = sines->data();
  }

  cudaStream_t stream;
  RotaryArguments arguments = {}; ///< of the heads that are rotated
  int64_t firstHead = 0;
  std::vector<Others> others;
  std::unique_ptr<Table> cosines, sines;
};

class DropoutKernel final : public Kernel {
public:
  DropoutKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream) {
    const TensorType &x = spec.operands[0];
    arguments = {};
    arguments.type = x.type;
    arguments.draws = drawsOf(DropoutRule(spec, "p"), context, x.shape[0]);
    arguments.run = product(x, 1, x.shape.size());
    arguments.runs = 1;
    if ((isPartial = spec.operands.size() > 1)) {
      const int64_t dim = spec.integer("dim");
      arguments.inner = product(x, dim + 1, x.shape.size());
      arguments.run = x.shape[dim] * arguments.inner;
      arguments.runs = product(x, 1, dim);
      arguments.stride = spec.integer("size") * arguments.inner;
    }
  }

  void run(void *const *b, void *) override {
    arguments.x = b[0];
    arguments.first = isPartial ? at<int32_t>(b, 1) : nullptr;
    arguments.y = b[1 + isPartial];
    dropout(arguments, stream);
  }

private:
  cudaStream_t stream;
  DropoutArguments arguments;
  bool isPartial;
};

} // namespace

void registerTokenKernels(Registry &registry) {
  registry.add("nn.embedding", makeKernel<EmbeddingKernel>);
  registry.add("nn.embedding_grad", makeKernel<EmbeddingGradKernel>);
  registry.add("nn.partial_embedding", makeKernel<EmbeddingKernel>);
  registry.add("nn.partial_embedding_grad", makeKernel<EmbeddingGradKernel>);
  registry.add("nn.rotary", makeKernel<RotaryKernel>);
  registry.add("nn.dropout", makeKernel<DropoutKernel>);
  registry.add("nn.partial_dropout", makeKernel<DropoutKernel>);
}

} // namespace zrt::cuda
