//===- AttrBounds.cpp - bounds of attributes' values ----------------------===//

#include "AttrBounds.h"
#include "program/Bounds.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::zero;

std::string mlir::zero::toText(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", value);
  return text;
}

LogicalResult mlir::zero::expectAtLeast(EmitError emitError, StringRef name,
                                        int64_t value, int64_t least) {
  if (value >= least)
    return success();
  return emitError() << name << " is " << value << ", wanted " << least
                     << " or more";
}

LogicalResult mlir::zero::expectCount(EmitError emitError, StringRef name,
                                      int64_t value) {
  if (value >= 1 && value <= zrt::kMostCount)
    return success();
  return emitError() << name << " is " << value << ", wanted 1 to "
                     << zrt::kMostCount;
}

/// Kernels compute in f32, so a value must be finite there.
static bool isFinite(double value) {
  return std::isfinite(static_cast<float>(value));
}

LogicalResult mlir::zero::expectFinite(EmitError emitError, StringRef name,
                                       double value) {
  if (isFinite(value))
    return success();
  return emitError() << name << " is " << toText(value)
                     << ", wanted a number that f32 can hold";
}

LogicalResult mlir::zero::expectNonNegative(EmitError emitError, StringRef name,
                                            double value) {
  if (value >= 0 && isFinite(value))
    return success();
  return emitError() << name << " is " << toText(value)
                     << ", wanted a number from 0 to 3.4e38";
}

LogicalResult mlir::zero::expectPositive(EmitError emitError, StringRef name,
                                         double value) {
  if (static_cast<float>(value) > 0 && isFinite(value))
    return success();
  return emitError() << name << " is " << toText(value)
                     << ", wanted a number above 0 that f32 can hold";
}

LogicalResult mlir::zero::expectWeight(EmitError emitError, StringRef name,
                                       double value) {
  if (static_cast<float>(value) > 0 && value <= 1)
    return success();
  return emitError() << name << " is " << toText(value)
                     << ", wanted a number above 0, at most 1";
}

LogicalResult mlir::zero::expectFraction(EmitError emitError, StringRef name,
                                         double value) {
  if (value >= 0 && value < 1)
    return success();
  return emitError() << name << " is " << toText(value)
                     << ", wanted a number from 0 to below 1";
}
