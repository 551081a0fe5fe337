//===- GptModel.h - a GPT of any size as text of MLIR ---------------------===//
#ifndef ZERO_PLAN_GPTMODEL_H
#define ZERO_PLAN_GPTMODEL_H

#include <cstdint>
#include <string>

namespace mlir::zero {

/// Sizes of a GPT whose perceptrons are four times as wide as it is.
struct GptShape {
  int64_t layers = 0, width = 0, heads = 0, vocabulary = 0, sequence = 0,
          microBatch = 0;
};

/// A model with one step: learned positions, biases everywhere, GELU by tanh,
/// layer norm before each block; the output projection is the token embedding.
/// The width is a multiple of the heads.
std::string writeGpt(const GptShape &shape);

} // namespace mlir::zero

#endif // ZERO_PLAN_GPTMODEL_H
