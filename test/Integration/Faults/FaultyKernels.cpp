#include "Faults.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

using namespace zrt;
using namespace zrt::test;

namespace {

/// nn.embedding_grad that meets the tokens from the last to the first.
class BackwardEmbedding : public Kernel {
public:
  BackwardEmbedding(const KernelSpec &spec, const KernelContext &context)
      : inner(makeHostKernel(spec, context)),
        tokens(size_t(spec.operands[1].elements())),
        row(spec.operands[0].bytes() / tokens), gradient(tokens * row),
        ids(tokens) {}
  size_t workspaceBytes() const override { return inner->workspaceBytes(); }
  void run(void *const *buffers, void *workspace) override {
    const auto *dy = static_cast<const char *>(buffers[0]);
    const auto *id = static_cast<const int32_t *>(buffers[1]);
    for (size_t i = 0; i < tokens; ++i) {
      std::memcpy(&gradient[i * row], dy + (tokens - 1 - i) * row, row);
      ids[i] = id[tokens - 1 - i];
    }
    void *reversed[] = {gradient.data(), ids.data(), buffers[2], buffers[3]};
    inner->run(reversed, workspace);
  }

private:
  std::unique_ptr<Kernel> inner;
  size_t tokens, row;
  std::vector<char> gradient;
  std::vector<int32_t> ids;
};

/// zero.adamw of f32 in whole blocks, and a tail in scalar f64 code.
class TailedUpdate : public Kernel {
public:
  TailedUpdate(const KernelSpec &spec, const KernelContext &context)
      : spec(spec), control(*context.control), end(spec.operands[0].elements()),
        body(end / kBlock * kBlock) {
    KernelSpec whole = spec;
    for (TensorType &type : whole.operands)
      type.shape = {body};
    inner = makeHostKernel(whole, context);
  }
  size_t workspaceBytes() const override { return inner->workspaceBytes(); }
  void run(void *const *buffers, void *workspace) override {
    inner->run(buffers, workspace);
    if (!control.finite)
      return;
    float *at[4];
    for (int i = 0; i < 4; ++i)
      at[i] = static_cast<float *>(buffers[i]);
    const double beta1 = spec.real("beta1", 0.9);
    const double beta2 = spec.real("beta2", 0.999);
    const double rate = control.learningRate[spec.integer("partition")];
    const double bias1 = 1 - std::pow(beta1, double(control.steps + 1));
    const double bias2 = 1 - std::pow(beta2, double(control.steps + 1));
    for (int64_t i = body; i < end; ++i) {
      const double gradient = double(at[0][i]) * control.factor;
      const double first = beta1 * at[2][i] + (1 - beta1) * gradient;
      const double second =
          beta2 * at[3][i] + (1 - beta2) * gradient * gradient;
      const double root = std::sqrt(second / bias2);
      at[1][i] =
          float(at[1][i] * (1 - rate * spec.real("weight_decay")) -
                rate / bias1 * first / (root + spec.real("epsilon", 1e-8)));
      at[2][i] = float(first);
      at[3][i] = float(second);
    }
  }

private:
  /// More than slices are padded to, so that some have a tail.
  static constexpr int64_t kBlock = 1024;
  KernelSpec spec;
  Control &control;
  int64_t end, body;
  std::unique_ptr<Kernel> inner;
};

/// nn.matmul of f32, transposed a[K, M] times b[K, N], whose K the threads
/// share.
class SharedProduct : public Kernel {
public:
  SharedProduct(const KernelSpec &spec, const KernelContext &context)
      : partial(size_t(spec.results[0].elements())) {
    const int64_t depth = spec.operands[0].shape[0];
    const int64_t parts = std::min<int64_t>(context.pool->threads(), depth);
    for (int64_t part = 0; part < parts; ++part) {
      const int64_t begin = depth * part / parts;
      const int64_t size = depth * (part + 1) / parts - begin;
      KernelSpec some = spec;
      some.operands[0].shape[0] = some.operands[1].shape[0] = size;
      pieces.push_back({begin * spec.operands[0].shape[1],
                        begin * spec.operands[1].shape[1],
                        makeHostKernel(some, context)});
    }
  }
  size_t workspaceBytes() const override {
    size_t bytes = 0;
    for (const Piece &piece : pieces)
      bytes = std::max(bytes, piece.kernel->workspaceBytes());
    return bytes;
  }
  void run(void *const *buffers, void *workspace) override {
    auto *result = static_cast<float *>(buffers[2]);
    for (const Piece &piece : pieces) {
      const bool first = &piece == &pieces.front();
      void *some[] = {static_cast<float *>(buffers[0]) + piece.a,
                      static_cast<float *>(buffers[1]) + piece.b,
                      first ? result : partial.data()};
      piece.kernel->run(some, workspace);
      for (size_t i = 0; !first && i < partial.size(); ++i)
        result[i] += partial[i];
    }
  }

private:
  struct Piece {
    int64_t a, b; ///< first elements
    std::unique_ptr<Kernel> kernel;
  };
  std::vector<Piece> pieces;
  std::vector<float> partial;
};

/// A product of the kind that weight gradients are.
bool isGradientProduct(const KernelSpec &spec) {
  return spec.name == "nn.matmul" && spec.integer("transpose_a") &&
         !spec.integer("transpose_b") && spec.operands[0].shape.size() == 2 &&
         spec.results[0].type == DataType::F32;
}

} // namespace

std::unique_ptr<Kernel>
zrt::test::makeFaultyKernel(Fault fault, const KernelSpec &spec,
                            const KernelContext &context) {
  if (fault == Fault::TokenOrder && spec.name == "nn.embedding_grad" &&
      context.program->training.stage >= 2)
    return std::make_unique<BackwardEmbedding>(spec, context);
  if (fault == Fault::Tail && spec.name == "zero.adamw" &&
      spec.operands.size() == 4)
    return std::make_unique<TailedUpdate>(spec, context);
  if (fault == Fault::ThreadBlocks && isGradientProduct(spec))
    return std::make_unique<SharedProduct>(spec, context);
  return makeHostKernel(spec, context);
}
