//===- Averages.cpp - how far an update moves an average ------------------===//

#include "zero/Analysis/Averages.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

MovingAverageAttr mlir::zero::getAverageUpdate(ParameterOp parameter,
                                               TrainingAttr training) {
  double weight = parameter.getAverage()->convertToDouble();
  if (training.getAccumulation() > 1)
    weight = 1 - std::pow(1 - weight,
                          static_cast<double>(training.getAccumulation()));
  return MovingAverageAttr::get(parameter.getContext(), weight);
}
