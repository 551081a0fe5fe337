// The device code, as functions that queue it on a stream.
//
// Addresses are the device's. Nothing here waits, allocates or looks at a
// KernelSpec; the files around it do, so that little is compiled by nvcc.
#ifndef ZERO_RUNTIME_KERNELS_CUDA_LAUNCHERS_H
#define ZERO_RUNTIME_KERNELS_CUDA_LAUNCHERS_H

#include "kernels/optimizer/Rules.h"
#include "kernels/shapes/RowStrides.h"
#include "program/Bounds.h"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace zrt::cuda {

/// Multiprocessors of the current device.
int multiprocessors();

//===----------------------------------------------------------------------===//
// Optimizer.cu and Statistics.cu: the `zero` operations
//===----------------------------------------------------------------------===//

void convert(DataType fromType, const void *from, DataType toType, void *to,
             int64_t elements, cudaStream_t stream);

/// Copies `bytes`, which may be the host's pinned ones, unless the update is
/// skipped.
void copyUpdated(const void *from, void *to, int64_t bytes,
                 const Control *control, cudaStream_t stream);

/// The first micro-batch of an update sets `to`, unless it `alwaysAdds`, and
/// the others add to it.
void accumulate(DataType fromType, const void *from, DataType toType, void *to,
                int64_t elements, bool alwaysAdds, const Control *control,
                cudaStream_t stream);

void seedLoss(DataType type, const float *weight, void *to,
              const Control *control, cudaStream_t stream);
void recordLoss(DataType type, const void *loss, const float *weight,
                Control *control, cudaStream_t stream);

/// Found-inf and sum of squares of one gradient. The f64 sum's order follows
/// from `elements` alone; the exact one has none.
struct StatisticsArguments {
  DataType type;
  const void *gradient;
  int64_t elements;
  int partition;
  bool first, exact;
  bool squared; ///< squares are added, not only what is not finite counted
  int64_t base;
  Control *control;
  void *workspace; ///< statisticsWorkspace(elements) bytes
};
size_t statisticsWorkspace(int64_t elements);
void gradientStatistics(const StatisticsArguments &arguments,
                        cudaStream_t stream);

/// Norm, verdict and factor.
void gradientScale(const JudgeRule &rule, Control *control,
                   cudaStream_t stream);

/// Addresses are the device's.
template <typename Rule> struct DeviceUpdate : UpdateBuffers {
  typename Rule::Hyper hyper;
  int partition;
  DataType gradientType, computeType;
  int64_t elements;
  const Control *control;
};
/// Does nothing where the control block says that gradients are not finite. For
/// each rule of ZRT_FOR_EACH_UPDATE_RULE.
template <typename Rule>
void update(const DeviceUpdate<Rule> &arguments, cudaStream_t stream);

void updateScale(const ScaleRule &rule, Control *control, cudaStream_t stream);

//===----------------------------------------------------------------------===//
// Rows.cu: over the last dimension
//===----------------------------------------------------------------------===//

struct RowsShape {
  DataType type;
  int64_t rows, width;
};

/// `b` and `mean` are null for RMS norm. The norm is of x + residual, which is
/// rounded to `sum`, where these are not null.
void norm(const RowsShape &shape, float epsilon, const void *x,
          const void *residual, const void *w, const void *b, void *y,
          float *mean, float *rstd, void *sum, cudaStream_t stream);
size_t normGradWorkspace(const RowsShape &shape, bool centred);
/// `mean` and `db` are null for RMS norm. Where `dsum` is not null, it is added
/// to the rounded dx.
void normGrad(const RowsShape &shape, const void *dy, const void *dsum,
              const void *x, const void *w, const float *mean,
              const float *rstd, void *dx, void *dw, void *db, void *workspace,
              cudaStream_t stream);

void softmax(const RowsShape &shape, const void *x, void *y,
             cudaStream_t stream);
void softmaxGrad(const RowsShape &shape, const void *dy, const void *y,
                 void *dx, cudaStream_t stream);

/// The target whose rows do not count, how many classes there are, behind which
/// columns are padding, and whether the loss is the sum of those of rows and no
/// mean. Where `first` is not null, columns are a range of the classes from
/// there on.
struct LossClasses {
  int ignored, count;
  bool isSum;
  const int32_t *first = nullptr;
};

size_t crossEntropyWorkspace(int64_t rows);
void crossEntropy(const RowsShape &shape, LossClasses classes,
                  const void *logits, const int32_t *targets, float *loss,
                  float *lse, void *workspace, Control *control,
                  cudaStream_t stream);
/// `dlogits` may be `logits`. `dlse`, of a range, may be null elsewhere.
void crossEntropyGrad(const RowsShape &shape, LossClasses classes,
                      const float *dloss, const float *dlse, const void *logits,
                      const int32_t *targets, const float *lse, void *dlogits,
                      void *workspace, cudaStream_t stream);

/// The parts of the two. Each row's logarithm and its loss, 0 where it is
/// ignored:
void lossOfRows(const RowsShape &shape, LossClasses classes, const void *logits,
                const int32_t *targets, float *lse, float *losses,
                Control *control, cudaStream_t stream);
/// The mean of those that count, or their sum.
void meanLoss(int64_t rows, LossClasses classes, const int32_t *targets,
              const float *losses, float *loss, cudaStream_t stream);
/// `dloss`, of a mean by their number, which is what a row's gradient is
/// multiplied by:
void lossScale(int64_t rows, LossClasses classes, const int32_t *targets,
               const float *dloss, float *scale, cudaStream_t stream);
void lossGradOfRows(const RowsShape &shape, LossClasses classes,
                    const float *scale, const float *dlse, const void *logits,
                    const int32_t *targets, const float *lse, void *dlogits,
                    cudaStream_t stream);

//===----------------------------------------------------------------------===//
// Gelu.cu: the tanh form
//===----------------------------------------------------------------------===//

/// `y` may be `h`.
void gelu(DataType type, int64_t elements, const void *h, void *y,
          cudaStream_t stream);
/// Multiplies `dh` by the derivative at `h`.
void geluGrad(DataType type, int64_t elements, const void *h, void *dh,
              cudaStream_t stream);

//===----------------------------------------------------------------------===//
// Tokens.cu and Movement.cu
//===----------------------------------------------------------------------===//

/// A table of `entries` rows of bytes, of which `rows` from `first` on are at
/// hand; null: 0.
struct EmbeddingTable {
  const void *rowsAt;
  int64_t rows, rowBytes, entries;
  const int32_t *first;
};
/// Rows of other ranges are zeros; an id of no entry gives zeros and
/// `Control::outOfRange`.
void embedding(const int32_t *ids, int64_t tokens, const EmbeddingTable &table,
               void *to, Control *control, cudaStream_t stream);

/// Keys in increasing order, and where each was; equal ones stay in order. Both
/// are in the workspace.
struct StableOrder {
  const int32_t *keys, *order;
};
/// A multiple of 256, whatever the sort asks for: others follow it.
size_t stableOrderWorkspace(int64_t count);
StableOrder stableOrder(const int32_t *keys, int64_t count, void *workspace,
                        cudaStream_t stream);

size_t embeddingGradWorkspace(int64_t tokens, int64_t width);
/// Rows [firstRow, firstRow + entries) of the table, or as many behind `first`
/// where it is not null: adds in token order, after
/// `init` where it is not null; of rows with more than 32 tokens, chunks of 32,
/// whose sums are then added in an order that their number decides.
void embeddingGrad(DataType type, const void *dy, const int32_t *ids,
                   int64_t tokens, int64_t firstRow, const int32_t *first,
                   int64_t entries, int64_t width, const void *init, void *to,
                   void *workspace, cudaStream_t stream);

/// Of [batches, positions, heads, 2 * pairs]; tables of [positions, pairs].
struct RotaryArguments {
  DataType type;
  bool interleaved;
  int64_t batches, positions, heads, pairs;
  RowStrides from, to;
  const float *cosines, *sines;
  const void *x;
  void *y;
};
void rotary(const RotaryArguments &arguments, cudaStream_t stream);

/// What dropout draws for the samples of a micro-batch; see DropoutRule.
struct Draws {
  uint32_t id, threshold;
  float scale;
  int rank, ranks;
  int64_t samples; ///< of this rank
  const Control *control;
};

struct DropoutArguments {
  DataType type;
  const void *x;
  void *y;
  /// Elements that lie side by side in the sample, how many such runs of it
  /// there are, and how far they are apart.
  int64_t run, runs, stride;
  /// Of a part of a dimension its first index, and the elements of an index;
  /// null: all is there.
  const int32_t *first;
  int64_t inner;
  Draws draws;
};
void dropout(const DropoutArguments &arguments, cudaStream_t stream);

/// A copy between two strided views, in elements; the last dimension is the
/// innermost. A source stride of 0 repeats.
struct StridedMove {
  int dims = 0;
  int64_t size[kMostDims], from[kMostDims], to[kMostDims];
  int64_t elements = 1;
};
void move(const StridedMove &shape, size_t elementBytes, const void *from,
          void *to, cudaStream_t stream);
/// Sets `elements` elements to the one in the low bytes of `bits`.
void fill(uint64_t bits, size_t elementBytes, void *to, int64_t elements,
          cudaStream_t stream);

/// Dimensions that are kept and reduced, outermost first, with their strides.
struct ReduceShape {
  DataType type;
  int keptDims = 0, reducedDims = 0;
  int64_t keptSize[kMostDims], keptStride[kMostDims];
  int64_t reducedSize[kMostDims], reducedStride[kMostDims];
  int64_t results = 1, terms = 1;
  bool maximum = false;
  float factor = 1;
  bool innerKept = false; ///< the innermost dimension is kept
};
size_t reduceWorkspace(const ReduceShape &shape);
void reduce(const ReduceShape &shape, const void *x, void *y, void *workspace,
            cudaStream_t stream);

//===----------------------------------------------------------------------===//
// Attention.cu
//===----------------------------------------------------------------------===//

struct AttentionArguments {
  DataType type;
  int64_t batch, queries, heads, features, keys, groups;
  bool causal;
  float scale;
  const float *mask; ///< null: none
  int64_t maskStride[4];
  const void *q, *k, *v;
  void *out;  ///< read by the gradient
  float *lse; ///< read by the gradient
  const void *dout;
  void *dq, *dk, *dv;
  void *workspace;
  bool drops;  ///< whether weights are dropped
  Draws draws; ///< where they are
  /// The key head of the whole sample that the first one is; null: the first.
  const int32_t *firstGroup;
  /// Of q, k, v, out, dout, dq, dk and dv; those of the gradient only there.
  RowStrides qRows, kRows, vRows, outRows, doutRows, dqRows, dkRows, dvRows;
};
/// Most features of a head.
inline constexpr int64_t kMostFeatures = 256;
/// Why attention, or its gradient, cannot run on the current device; empty
/// where it can. Addresses do not count.
std::string attentionRefusal(const AttentionArguments &arguments,
                             bool gradient);
void attention(const AttentionArguments &arguments, cudaStream_t stream);
size_t attentionGradWorkspace(const AttentionArguments &arguments);
/// With `onlyIfNeeded`, the gradients stay as they are unless `lse` loses the
/// digits of some row's probabilities: another library has made them from it.
void attentionGrad(const AttentionArguments &arguments, cudaStream_t stream,
                   bool onlyIfNeeded = false);

} // namespace zrt::cuda

#endif // ZERO_RUNTIME_KERNELS_CUDA_LAUNCHERS_H
