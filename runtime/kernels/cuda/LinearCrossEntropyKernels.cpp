// nn.linear_cross_entropy, nn.linear_partial_cross_entropy and their gradients
// on a device: products through cuBLASLt and the kernels of a cross entropy, a
// chunk of rows at a time.
#include "kernels/cuda/Kernels.h"
#include "kernels/shapes/LinearCrossEntropyShape.h"

#include <algorithm>
#include <stdexcept>

namespace zrt::cuda {

namespace {

class LinearCrossEntropyKernel final : public Kernel {
public:
  LinearCrossEntropyKernel(const KernelSpec &spec, const KernelContext &context)
      : shape(spec), context(context),
        ones(std::vector<float>(
            shape.isGradient && shape.bias ? shape.chunk : 0, 1.0f)),
        elementBytes(sizeOf(shape.type)) {
    if (shape.rows * shape.depth * shape.columns == 0)
      refuse(spec, "is a loss of nothing: compile with "
                   "--pipeline=fuse-cross-entropy=false");
    whole = makeProducts(spec, shape.chunk);
    last = makeProducts(spec, shape.rows - (shape.chunks() - 1) * shape.chunk);
    logitsAt = take(shape.chunk * shape.columns * elementBytes);
    lseAt = take(shape.chunk * sizeof(float));
    lossesAt = take(shape.rows * sizeof(float));
    scaleAt = take(sizeof(float));
    if (shape.isGradient && shape.type != DataType::F32)
      dwAt = take(shape.depth * shape.columns * sizeof(float));
    if (shape.isGradient && shape.bias) {
      dbAt = take(shape.columns * sizeof(float));
      onesAt = take(shape.chunk * elementBytes);
    }
    scratchAt = bytes;
    bytes += std::max(whole.workspaceBytes(), last.workspaceBytes());
  }

  size_t workspaceBytes() const override { return bytes; }

  /// Chunks begin at rows of x, so each has an alignment of its own.
  void admit(void *const *buffers, void *workspace) override {
    for (int64_t first = 0; first < shape.rows; first += shape.chunk)
      admitChunk(buffers, static_cast<char *>(workspace), first);
  }

  void run(void *const *buffers, void *workspace) override {
    char *space = static_cast<char *>(workspace);
    const cudaStream_t stream = context.cuda->stream;
    const int32_t *targets = at<int32_t>(buffers, shape.targets());
    Sums sums = {};
    if (shape.isGradient)
      sums = prepare(buffers, space);
    for (int64_t first = 0; first < shape.rows; first += shape.chunk)
      runChunk(buffers, space, first, sums);
    if (!shape.isPartial || !shape.isGradient)
      meanLoss(shape.rows, classesOfLoss(), targets,
               reinterpret_cast<float *>(space + lossesAt),
               at<float>(buffers, shape.loss()), stream);
    if (sums.dw && sums.dw != buffers[shape.dw()])
      convert(DataType::F32, sums.dw, shape.type, buffers[shape.dw()],
              shape.depth * shape.columns, stream);
    if (sums.db)
      convert(DataType::F32, sums.db, shape.type, buffers[shape.db()],
              shape.columns, stream);
  }

private:
  /// The products of so many rows.
  struct Products {
    std::unique_ptr<Kernel> logits, dx, dw, db;
    size_t workspaceBytes() const {
      size_t most = 0;
      for (const Kernel *kernel : {logits.get(), dx.get(), dw.get(), db.get()})
        if (kernel)
          most = std::max(most, kernel->workspaceBytes());
      return most;
    }
  };
  /// Where f32 sums over the chunks are; null: there are none.
  struct Sums {
    float *dw, *db;
  };

  Products makeProducts(const KernelSpec &spec, int64_t rows) {
    Products made;
    made.logits = makeProduct(spec, context, shape.logitsOf(rows));
    if (!shape.isGradient)
      return made;
    made.dx = makeProduct(spec, context, shape.dxOf(rows));
    made.dw = makeProduct(spec, context, shape.dwOf(rows));
    if (!shape.bias)
      return made;
    MatrixShape sums; // of the columns: a row of ones times the gradient
    sums.type = shape.type;
    sums.m = 1;
    sums.k = rows;
    sums.n = shape.columns;
    sums.adds = true;
    made.db = makeProduct(spec, context, sums);
    return made;
  }

  LossClasses classesOfLoss() const {
    return {int(shape.ignored), int(shape.classes), shape.sum};
  }

  size_t take(size_t size) {
    // A whole number of cache lines, which is what cuBLASLt's operands want.
    constexpr size_t line = 256;
    const size_t begin = bytes;
    bytes += (size + line - 1) / line * line;
    return begin;
  }

  float *dwSums(void *const *buffers, char *space) const {
    return shape.type == DataType::F32
               ? at<float>(buffers, shape.dw())
               : reinterpret_cast<float *>(space + dwAt);
  }

  /// Clears the sums, and counts the rows.
  Sums prepare(void *const *buffers, char *space) {
    const cudaStream_t stream = context.cuda->stream;
    const size_t count = size_t(shape.depth) * shape.columns;
    Sums sums = {dwSums(buffers, space), nullptr};
    check(cudaMemsetAsync(sums.dw, 0, count * sizeof(float), stream),
          "cudaMemsetAsync");
    lossScale(shape.rows, classesOfLoss(),
              at<int32_t>(buffers, shape.targets()), at<float>(buffers, 0),
              reinterpret_cast<float *>(space + scaleAt), stream);
    if (!shape.bias)
      return sums;
    sums.db = reinterpret_cast<float *>(space + dbAt);
    check(cudaMemsetAsync(sums.db, 0, shape.columns * sizeof(float), stream),
          "cudaMemsetAsync");
    convert(DataType::F32, ones.data(), shape.type, space + onesAt, shape.chunk,
            stream);
    return sums;
  }

  void *rowsFrom(void *buffer, int64_t first) const {
    return static_cast<char *>(buffer) + first * shape.depth * elementBytes;
  }

  /// The addresses are those of `runChunk`.
  void admitChunk(void *const *buffers, char *space, int64_t first) {
    Products &products = productsOf(first);
    void *x = rowsFrom(buffers[shape.x()], first), *w = buffers[shape.w()];
    void *logits = space + logitsAt, *scratch = space + scratchAt;
    void *const ofLogits[] = {
        x, w, shape.bias ? buffers[shape.biasAt()] : logits, logits};
    products.logits->admit(ofLogits, scratch);
    if (!shape.isGradient)
      return;
    void *const ofX[] = {logits, w, rowsFrom(buffers[shape.dx()], first)};
    products.dx->admit(ofX, scratch);
    void *const ofW[] = {shape.transposed ? logits : x,
                         shape.transposed ? x : logits, dwSums(buffers, space)};
    products.dw->admit(ofW, scratch);
    if (!shape.bias)
      return;
    void *const ofBias[] = {space + onesAt, logits, space + dbAt};
    products.db->admit(ofBias, scratch);
  }

  Products &productsOf(int64_t first) {
    return shape.rows - first >= shape.chunk ? whole : last;
  }

  void runChunk(void *const *buffers, char *space, int64_t first, Sums sums) {
    Products &products = productsOf(first);
    const cudaStream_t stream = context.cuda->stream;
    const RowsShape rows = {
        shape.type, std::min(shape.chunk, shape.rows - first), shape.columns};
    const int32_t *targets = at<int32_t>(buffers, shape.targets()) + first;
    void *x = rowsFrom(buffers[shape.x()], first), *w = buffers[shape.w()];
    void *logits = space + logitsAt, *scratch = space + scratchAt;
    float *lse = shape.isPartial ? at<float>(buffers, shape.lse()) + first
                                 : reinterpret_cast<float *>(space + lseAt);
    void *const ofLogits[] = {
        x, w, shape.bias ? buffers[shape.biasAt()] : logits, logits};
    products.logits->run(ofLogits, scratch);
    LossClasses classes = classesOfLoss();
    if (shape.isPartial)
      classes.first = at<int32_t>(buffers, shape.first());
    if (!shape.isPartial || !shape.isGradient)
      lossOfRows(rows, classes, logits, targets, lse,
                 reinterpret_cast<float *>(space + lossesAt) + first,
                 context.control, stream);
    if (!shape.isGradient)
      return;
    const float *dlse =
        shape.isPartial ? at<float>(buffers, shape.dlse()) + first : nullptr;
    lossGradOfRows(rows, classes, reinterpret_cast<float *>(space + scaleAt),
                   dlse, logits, targets, lse, logits, stream);
    void *const ofX[] = {logits, w, rowsFrom(buffers[shape.dx()], first)};
    products.dx->run(ofX, scratch);
    void *const ofW[] = {shape.transposed ? logits : x,
                         shape.transposed ? x : logits, sums.dw};
    products.dw->run(ofW, scratch);
    if (!sums.db)
      return;
    void *const ofBias[] = {space + onesAt, logits, sums.db};
    products.db->run(ofBias, scratch);
  }

  const LinearCrossEntropyShape shape;
  KernelContext context;
  Table ones;
  size_t elementBytes, bytes = 0;
  Products whole, last;
  size_t logitsAt = 0, lseAt = 0, lossesAt = 0, scaleAt = 0, dwAt = 0, dbAt = 0,
         onesAt = 0, scratchAt = 0;
};

} // namespace

void registerLinearCrossEntropyKernels(Registry &registry) {
  registry.add("nn.linear_cross_entropy", makeKernel<LinearCrossEntropyKernel>);
  registry.add("nn.linear_cross_entropy_grad",
               makeKernel<LinearCrossEntropyKernel>);
  registry.add("nn.linear_partial_cross_entropy",
               makeKernel<LinearCrossEntropyKernel>);
  registry.add("nn.linear_partial_cross_entropy_grad",
               makeKernel<LinearCrossEntropyKernel>);
}

} // namespace zrt::cuda
