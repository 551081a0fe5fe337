//===- Activations.cpp - gelu, silu and their derivatives -----------------===//

#include "Rules.h"

#include "zero/Dialect/NN/NN.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

static const double sqrtTwoOverPi = std::sqrt(2.0 / M_PI);
static constexpr double cubic = 0.044715;

static double gelu(nn::GeluForm form, double x) {
  if (form == nn::GeluForm::Exact)
    return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
  return 0.5 * x * (1.0 + std::tanh(sqrtTwoOverPi * (x + cubic * x * x * x)));
}

static double geluDerivative(nn::GeluForm form, double x) {
  if (form == nn::GeluForm::Exact)
    return 0.5 * (1.0 + std::erf(x / std::sqrt(2.0))) +
           x * std::exp(-0.5 * x * x) / std::sqrt(2.0 * M_PI);
  double t = std::tanh(sqrtTwoOverPi * (x + cubic * x * x * x));
  double inner = sqrtTwoOverPi * (1.0 + 3.0 * cubic * x * x);
  return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * inner;
}

static double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }

double rules::tanhGelu(double x) { return ::gelu(nn::GeluForm::Tanh, x); }
double rules::tanhGeluDerivative(double x) {
  return ::geluDerivative(nn::GeluForm::Tanh, x);
}

void rules::addActivations(EvaluationRules &rules) {
  rules.add<nn::GeluOp>([](nn::GeluOp op, Evaluation &e) {
    for (int64_t i = 0; i < e.out[0].size(); ++i)
      e.out[0].reals[i] = gelu(op.getForm(), e.in[0]->reals[i]);
    return success();
  });
  rules.add<nn::GeluGradOp>([](nn::GeluGradOp op, Evaluation &e) {
    for (int64_t i = 0; i < e.out[0].size(); ++i)
      e.out[0].reals[i] =
          e.in[0]->reals[i] * geluDerivative(op.getForm(), e.in[1]->reals[i]);
    return success();
  });
  rules.add<nn::SiluOp>([](nn::SiluOp, Evaluation &e) {
    for (int64_t i = 0; i < e.out[0].size(); ++i)
      e.out[0].reals[i] = e.in[0]->reals[i] * sigmoid(e.in[0]->reals[i]);
    return success();
  });
  rules.add<nn::SiluGradOp>([](nn::SiluGradOp, Evaluation &e) {
    for (int64_t i = 0; i < e.out[0].size(); ++i) {
      double x = e.in[1]->reals[i], s = sigmoid(x);
      e.out[0].reals[i] = e.in[0]->reals[i] * s * (1.0 + x * (1.0 - s));
    }
    return success();
  });
  rules.add<nn::StopGradientOp>([](nn::StopGradientOp, Evaluation &e) {
    e.out[0].reals = e.in[0]->reals;
    return success();
  });
  rules.add<nn::SiluMulOp>([](nn::SiluMulOp, Evaluation &e) {
    for (int64_t i = 0; i < e.out[0].size(); ++i) {
      double gate = e.in[0]->reals[i];
      e.out[0].reals[i] = gate * sigmoid(gate) * e.in[1]->reals[i];
    }
    return success();
  });
  rules.add<nn::SiluMulGradOp>([](nn::SiluMulGradOp, Evaluation &e) {
    for (int64_t i = 0; i < e.out[0].size(); ++i) {
      double dy = e.in[0]->reals[i], gate = e.in[1]->reals[i],
             s = sigmoid(gate);
      e.out[0].reals[i] = dy * e.in[2]->reals[i] * s * (1.0 + gate * (1.0 - s));
      e.out[1].reals[i] = dy * gate * s;
    }
    return success();
  });
}
