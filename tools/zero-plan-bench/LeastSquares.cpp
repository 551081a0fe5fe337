//===- LeastSquares.cpp - damped Gauss-Newton steps -----------------------===//

#include "MachineFit.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::zero;
using mlir::zero::detail::Residuals;

namespace {

/// A symmetric system of a few unknowns.
struct Normal {
  explicit Normal(size_t size)
      : size(size), matrix(size * size, 0), right(size, 0) {}

  double &at(size_t row, size_t column) { return matrix[row * size + column]; }
  /// Solves it, with `damping` added to the diagonal, by elimination.
  SmallVector<double> solve(double damping) const;

  size_t size;
  std::vector<double> matrix, right;
};

} // namespace

SmallVector<double> Normal::solve(double damping) const {
  Normal rest = *this;
  // Positive definite, and so no pivot is 0.
  for (size_t i = 0; i < size; ++i)
    rest.at(i, i) += damping;
  for (size_t i = 0; i < size; ++i)
    for (size_t row = i + 1; row < size; ++row) {
      double factor = rest.at(row, i) / rest.at(i, i);
      for (size_t column = i; column < size; ++column)
        rest.at(row, column) -= factor * rest.at(i, column);
      rest.right[row] -= factor * rest.right[i];
    }
  SmallVector<double> solution(size, 0);
  for (size_t i = size; i-- > 0;) {
    double value = rest.right[i];
    for (size_t column = i + 1; column < size; ++column)
      value -= rest.at(i, column) * solution[column];
    solution[i] = value / rest.at(i, i);
  }
  return solution;
}

static double sumSquares(ArrayRef<double> values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return sum;
}

/// The system of the residuals' straight lines at `point`.
static Normal linearize(ArrayRef<double> point, ArrayRef<double> values,
                        Residuals residuals) {
  constexpr double kStep = 1e-4;
  std::vector<std::vector<double>> slopes;
  for (size_t i = 0; i < point.size(); ++i) {
    SmallVector<double> moved(point);
    moved[i] += kStep;
    slopes.push_back(residuals(moved));
    for (auto [slope, value] : llvm::zip_equal(slopes.back(), values))
      slope = (slope - value) / kStep;
  }
  Normal normal(point.size());
  for (size_t i = 0; i < point.size(); ++i)
    for (size_t k = 0; k < values.size(); ++k) {
      normal.right[i] -= slopes[i][k] * values[k];
      for (size_t j = 0; j < point.size(); ++j)
        normal.at(i, j) += slopes[i][k] * slopes[j][k];
    }
  return normal;
}

SmallVector<double> mlir::zero::detail::minimizeSquares(ArrayRef<double> start,
                                                        Residuals residuals) {
  constexpr int kSteps = 12, kTries = 6;
  constexpr double kFirstDamping = 1e-3, kLess = 0.3, kMore = 5;
  constexpr double kLongest = 0.5, kEnough = 1e-4;
  SmallVector<double> point(start);
  std::vector<double> values = residuals(point);
  double damping = kFirstDamping;
  for (int step = 0; step < kSteps; ++step) {
    const double before = sumSquares(values);
    Normal normal = linearize(point, values, residuals);
    for (int i = 0; i < kTries; ++i) {
      SmallVector<double> next(point);
      for (auto [value, change] : llvm::zip_equal(next, normal.solve(damping)))
        value += std::clamp(change, -kLongest, kLongest);
      std::vector<double> found = residuals(next);
      if (sumSquares(found) < before) {
        point = std::move(next);
        values = std::move(found);
        damping *= kLess;
        break;
      }
      damping *= kMore;
    }
    if (before - sumSquares(values) <= kEnough * before)
      break;
  }
  return point;
}
