// Embeddings, rotary positions and dropout on a device.
#include "kernels/cuda/Kernels.h"
#include "kernels/host/Host.h"
#include "kernels/optimizer/Specs.h"

#include <algorithm>
#include <cmath>

namespace zrt::cuda {

using host::at;
using host::wantBuffers;
using host::wantType;

namespace {

std::vector<int64_t> withWidth(std::vector<int64_t> shape, int64_t width) {
  shape.push_back(width);
  return shape;
}

void wantTable(const KernelSpec &spec, const TensorType &table) {
  if (table.shape.size() != 2)
    refuse(spec,
           "the table is " + host::describe(table) + ", wanted two dimensions");
}

class EmbeddingKernel final : public Kernel {
public:
  EmbeddingKernel(const KernelSpec &spec, const KernelContext &context)
      : context(context) {
    wantBuffers(spec, 2, 1);
    const TensorType &ids = spec.operands[0], &table = spec.operands[1];
    wantTable(spec, table);
    wantType(spec, "ids", ids, DataType::I32, ids.shape);
    wantType(spec, "the result", spec.results[0], table.type,
             withWidth(ids.shape, table.shape[1]));
    tokens = ids.elements();
    entries = table.shape[0];
    rowBytes = table.shape[1] * int64_t(sizeOf(table.type));
  }

  void run(void *const *b, void *) override {
    embedding(at<int32_t>(b, 0), tokens, b[1], entries, rowBytes, b[2],
              context.control, context.cuda->stream);
  }

private:
  KernelContext context;
  int64_t tokens, entries, rowBytes;
};

class EmbeddingGradKernel final : public Kernel {
public:
  EmbeddingGradKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream), hasInit(spec.integer("init") != 0) {
    wantBuffers(spec, hasInit ? 3 : 2, 1);
    const TensorType &ids = spec.operands[1];
    table = spec.results[0];
    wantTable(spec, table);
    expectLane(spec, table.type);
    // Of a block of rows, ids outside are left to other blocks.
    constexpr int64_t mostRows = int64_t(1) << 31; // ids are 32-bit
    const host::RowRange rows =
        host::rowRange(spec, spec.has("rows") ? mostRows : table.shape[0]);
    if (rows.last - rows.first != table.shape[0])
      refuse(spec, "the result is " + host::describe(table) + ", wanted " +
                       std::to_string(rows.last - rows.first) + " rows");
    firstRow = rows.first;
    tokens = ids.elements();
    wantType(spec, "ids", ids, DataType::I32, ids.shape);
    wantType(spec, "dy", spec.operands[0], table.type,
             withWidth(ids.shape, table.shape[1]));
    if (hasInit)
      wantType(spec, "init", spec.operands[2], table.type, table.shape);
  }

  size_t workspaceBytes() const override {
    return embeddingGradWorkspace(tokens);
  }

  void run(void *const *b, void *workspace) override {
    embeddingGrad(table.type, b[0], at<int32_t>(b, 1), tokens, firstRow,
                  table.shape[0], table.shape[1], hasInit ? b[2] : nullptr,
                  b[hasInit ? 3 : 2], workspace, stream);
  }

private:
  cudaStream_t stream;
  bool hasInit;
  TensorType table;
  int64_t tokens, firstRow;
};

class RotaryKernel final : public Kernel {
public:
  RotaryKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream),
        interleaved(spec.integer("interleaved") != 0) {
    wantBuffers(spec, 1, 1);
    const TensorType &x = spec.operands[0];
    if (x.shape.size() != 4 || x.shape[3] % 2)
      refuse(spec, "the operand is " + host::describe(x) +
                       ", wanted four dimensions, the last even");
    expectLane(spec, x.type);
    wantType(spec, "the result", spec.results[0], x.type, x.shape);
    type = x.type;
    rows = x.shape[0] * x.shape[1];
    positions = x.shape[1];
    heads = x.shape[2];
    pairs = x.shape[3] / 2;
    tabulate(spec.real("theta"), spec.integer("inverse") != 0);
  }

  void run(void *const *b, void *) override {
    rotary(type, interleaved, b[0], b[1], rows, positions, heads, pairs,
           cosines->data(), sines->data(), stream);
  }

private:
  /// The host's table: cosine and sine of every position and pair.
  void tabulate(double theta, bool inverse) {
    std::vector<float> c, s;
    for (int64_t t = 0; t < positions; ++t)
      for (int64_t i = 0; i < pairs; ++i) {
        const double angle = t * std::pow(theta, -double(i) / pairs);
        c.push_back(float(std::cos(angle)));
        s.push_back(float(inverse ? -std::sin(angle) : std::sin(angle)));
      }
    cosines = std::make_unique<Table>(c);
    sines = std::make_unique<Table>(s);
  }

  cudaStream_t stream;
  bool interleaved;
  DataType type;
  int64_t rows, positions, heads, pairs;
  std::unique_ptr<Table> cosines, sines;
};

class DropoutKernel final : public Kernel {
public:
  DropoutKernel(const KernelSpec &spec, const KernelContext &context)
      : stream(context.cuda->stream) {
    wantBuffers(spec, 1, 1);
    const TensorType &x = spec.operands[0];
    const double p = spec.real("p");
    if (x.shape.empty() || p < 0 || p >= 1)
      refuse(spec, "the operand is " + host::describe(x) + " and p is " +
                       std::to_string(p) +
                       ", wanted a dimension of samples and 0 <= p < 1");
    expectLane(spec, x.type);
    wantType(spec, "the result", spec.results[0], x.type, x.shape);
    arguments = {};
    arguments.type = x.type;
    arguments.samples = x.shape[0];
    arguments.elements = host::product(x, 1, x.shape.size());
    arguments.id = uint32_t(spec.integer("id"));
    arguments.threshold =
        uint32_t(std::min(std::ceil(std::ldexp(p, 32)), 4294967295.0));
    arguments.scale = float(1 / (1 - p));
    arguments.rank = context.rank;
    arguments.ranks = context.ranks;
    arguments.control = context.control;
  }

  void run(void *const *b, void *) override {
    arguments.x = b[0];
    arguments.y = b[1];
    dropout(arguments, stream);
  }

private:
  cudaStream_t stream;
  DropoutArguments arguments;
};

} // namespace

void registerTokens(Registry &registry) {
  registry.add("nn.embedding", makeKernel<EmbeddingKernel>);
  registry.add("nn.embedding_grad", makeKernel<EmbeddingGradKernel>);
  registry.add("nn.rotary", makeKernel<RotaryKernel>);
  registry.add("nn.dropout", makeKernel<DropoutKernel>);
}

} // namespace zrt::cuda
