// nn.embedding, nn.partial_embedding and their gradients.
#include "kernels/Vector.h"
#include "kernels/host/Host.h"

#include <stdexcept>

namespace zrt::host {

namespace {

/// Throws std::out_of_range where an id is no row of a table of `rows`.
void checkIds(const int32_t *ids, int64_t count, int64_t rows) {
  for (int64_t i = 0; i < count; ++i)
    if (ids[i] < 0 || ids[i] >= rows)
      throw std::out_of_range(
          "nn.embedding: id " + std::to_string(ids[i]) + " at position " +
          std::to_string(i) + " is outside the table's 0 .. " +
          std::to_string(rows - 1) + "; check the data against the vocabulary");
}

/// Rows of whatever type, by their bytes. Where the table is a range, behind
/// which its first row is an operand, others give zeros.
class Embedding final : public Kernel {
public:
  Embedding(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), isPartial(spec.operands.size() > 2) {
    const TensorType &table = spec.operands[1];
    tokens = spec.operands[0].elements();
    rows = table.shape[0];
    entries = spec.integer("num_embeddings", rows);
    width = table.shape[1];
    rowBytes = width * sizeOf(table.type);
  }

  void run(void *const *buffers, void *) override {
    const int32_t *ids = at<int32_t>(buffers, 0);
    const char *table = at<char>(buffers, 1);
    char *result = at<char>(buffers, isPartial ? 3 : 2);
    const int64_t first = isPartial ? *at<int32_t>(buffers, 2) : 0;
    checkIds(ids, tokens, entries);
    pool.parallelFor(tokens, rowGrain(width), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t row = ids[i] - first;
        char *to = result + i * rowBytes;
        if (row >= 0 && row < rows)
          std::memcpy(to, table + row * rowBytes, rowBytes);
        else
          std::memset(to, 0, rowBytes);
      }
    });
  }

private:
  ThreadPool &pool;
  bool isPartial;
  int64_t tokens, rows, entries, width, rowBytes;
};

/// Each row of the table adds up its own tokens, which a stable counting sort
/// lists in order: threads share rows, never a sum. Of a block of rows, or a
/// range of the table, ids outside are left to others.
template <typename T> class EmbeddingGrad final : public Kernel {
public:
  EmbeddingGrad(const KernelSpec &spec, const KernelContext &context)
      : pool(*context.pool), hasInit(spec.integer("init") != 0),
        isPartial(spec.name == "nn.partial_embedding_grad") {
    const TensorType &table = spec.results[0];
    entries = table.shape[0];
    width = table.shape[1];
    tokens = spec.operands[1].elements();
    isBlock = spec.has("rows");
    blockBegin = rowRange(spec, entries).first;
  }

  size_t workspaceBytes() const override {
    return startBytes() + padded(tokens * sizeof(int64_t));
  }

  void run(void *const *buffers, void *workspace) override {
    const int32_t *ids = at<int32_t>(buffers, 1);
    if (!isBlock && !isPartial)
      checkIds(ids, tokens, entries);
    auto *starts = static_cast<int64_t *>(workspace);
    auto *order = reinterpret_cast<int64_t *>(static_cast<char *>(workspace) +
                                              startBytes());
    const int64_t first = isPartial ? *at<int32_t>(buffers, 2) : 0;
    sort(ids, first + blockBegin, starts, order);
    const T *dy = at<T>(buffers, 0);
    const int initAt = isPartial ? 3 : 2;
    const T *init = hasInit ? at<T>(buffers, initAt) : nullptr;
    T *result = at<T>(buffers, initAt + hasInit);
    pool.parallelFor(entries, rowGrain(width), [&](int64_t begin, int64_t end) {
      for (int64_t v = begin; v < end; ++v)
        row(dy, init ? init + v * width : nullptr, order + starts[v],
            starts[v + 1] - starts[v], result + v * width);
    });
  }

private:
  size_t startBytes() const { return padded((entries + 2) * sizeof(int64_t)); }

  /// order[starts[v] .. starts[v + 1]) becomes the tokens whose id is v.
  void sort(const int32_t *ids, int64_t firstRow, int64_t *starts,
            int64_t *order) const {
    std::memset(starts, 0, (entries + 2) * sizeof(int64_t));
    auto isHere = [&](int64_t row) { return row >= 0 && row < entries; };
    for (int64_t i = 0; i < tokens; ++i)
      if (int64_t row = ids[i] - firstRow; isHere(row))
        ++starts[row + 2];
    for (int64_t v = 2; v < entries + 2; ++v)
      starts[v] += starts[v - 1];
    for (int64_t i = 0; i < tokens; ++i)
      if (int64_t row = ids[i] - firstRow; isHere(row))
        order[starts[row + 1]++] = i;
  }

  void row(const T *dy, const T *init, const int64_t *mine, int64_t count,
           T *result) const {
    if (count == 0) {
      if (!init)
        std::memset(static_cast<void *>(result), 0, width * sizeof(T));
      else if (init != result)
        std::memcpy(static_cast<void *>(result), init, width * sizeof(T));
      return;
    }
    forEachVector(width, [&](Lanes at) {
      Vector sum = init ? at.load(init) : splat(0);
      for (int64_t i = 0; i < count; ++i)
        sum += at.load(dy + mine[i] * width);
      at.store(result, sum);
    });
  }

  ThreadPool &pool;
  bool hasInit, isPartial, isBlock = false;
  int64_t tokens, entries, width, blockBegin = 0;
};

} // namespace

void registerEmbedding(Registry &registry) {
  registry.add("nn.embedding", makeKernel<Embedding>);
  registry.add("nn.embedding_grad", makeByOperand<EmbeddingGrad>);
  registry.add("nn.partial_embedding", makeKernel<Embedding>);
  registry.add("nn.partial_embedding_grad", makeByOperand<EmbeddingGrad>);
}

} // namespace zrt::host
