//===- Rules.h - families of rules ------------------------------*- C++ -*-===//
#ifndef ZERO_LIB_INTERPRETER_RULES_H
#define ZERO_LIB_INTERPRETER_RULES_H

#include "zero/Interpreter/Interpreter.h"

namespace mlir::zero::rules {

/// The tanh form of gelu, and its derivative.
double tanhGelu(double x);
double tanhGeluDerivative(double x);

/// What dropout with the probability `p` multiplies an element of a sample of
/// this micro-batch by: 0 where it is dropped.
double dropoutFactor(const Evaluation &e, int64_t sample, uint64_t element,
                     double p, uint64_t id);

void addElementwise(EvaluationRules &rules);
void addTensor(EvaluationRules &rules);
void addContractions(EvaluationRules &rules);
void addAttention(EvaluationRules &rules);
void addNormalizations(EvaluationRules &rules);
void addBatchNorm(EvaluationRules &rules);
void addWindows(EvaluationRules &rules);
void addActivations(EvaluationRules &rules);
void addLookups(EvaluationRules &rules);
void addExperts(EvaluationRules &rules);
void addIndexing(EvaluationRules &rules);
void addShapes(EvaluationRules &rules);
void addRandom(EvaluationRules &rules);
void addStep(EvaluationRules &rules);

} // namespace mlir::zero::rules

#endif // ZERO_LIB_INTERPRETER_RULES_H
