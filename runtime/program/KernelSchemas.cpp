// The kernels of `nn` that normalize, activate, drop out and look up tokens,
// one row each: tensors, attributes, work. An element counts what its formula
// does, an exponential as one operation.
#include "program/KernelPattern.h"
#include "program/Workspaces.h"

using namespace zrt;

namespace {

using Shapes = const KernelShapes &;

constexpr char kX[] = "x", kY[] = "y", kDy[] = "dy";

/// Operations an element of a tensor.
template <int operations, const char *tensor = kX> uint64_t each(Shapes s) {
  return operations * s.elements(tensor);
}

/// Only the rows that are looked up are read.
uint64_t embeddingBytes(Shapes s) {
  return s.tensor("ids")->bytes() + 2 * s.tensor("y")->bytes();
}

uint64_t embeddingGradFlops(Shapes s) { return s.elements("dy"); }
uint64_t logitsFlops(Shapes s) { return 4 * s.elements("logits"); }

std::string checkEmbedding(Shapes s) {
  return checkCount(s, "num_embeddings", 0, s.size("v"));
}
std::string checkClasses(Shapes s) {
  return checkCount(s, "classes", 1, s.size("n"));
}

} // namespace

const std::vector<KernelSchema> &zrt::builtInKernelSchemas() {
  static const std::vector<KernelSchema> schemas = {
      {"launch", "x*:any[..] -> y*:any[..]"},
#include "zero/Dialect/NN/NNActivationRows.inc"
#include "zero/Dialect/NN/NNAddedNormRows.inc"
#include "zero/Dialect/NN/NNBatchNormRows.inc"
#include "zero/Dialect/NN/NNNormalizationRows.inc"
#include "zero/Dialect/NN/NNTokenRows.inc"
  };
  return schemas;
}
