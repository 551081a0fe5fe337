//===- PublishedRuns.h - how fast training runs of others were ------------===//
#ifndef ZERO_PLAN_PUBLISHEDRUNS_H
#define ZERO_PLAN_PUBLISHEDRUNS_H

#include "GptModel.h"

#include "mlir/Support/LLVM.h"

#include <string>
#include <vector>

namespace mlir::zero {

/// A run of a GPT at stage 3, as a row of a table says it.
struct PublishedRun {
  std::string gpu, model;
  GptShape shape;
  int64_t gpus = 0, accumulation = 0;
  /// Whether all activations are recomputed.
  bool recomputes = false;
  double tokensASecondAndGpu = 0;

  /// Tokens of one GPU in an update.
  double tokens() const {
    return static_cast<double>(shape.microBatch * shape.sequence *
                               accumulation);
  }
  double seconds() const { return tokens() / tokensASecondAndGpu; }
};

/// The rows of the CSV file `path` with the columns gpu, model, d, layers,
/// heads, vocab, seq, gpus, micro, accum, ac (0 or 1) and published_tok_s_gpu;
/// others are not read. Only those of `machine`'s GPU: `h100`, and what begins
/// with `h100_`, for the machines `h100` and `h100-eager`. None is an error.
FailureOr<std::vector<PublishedRun>> readPublishedRuns(StringRef path,
                                                       StringRef machine);

} // namespace mlir::zero

#endif // ZERO_PLAN_PUBLISHEDRUNS_H
