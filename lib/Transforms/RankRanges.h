//===- RankRanges.h - a rank's range of a cut dimension ---------*- C++ -*-===//
#ifndef ZERO_LIB_TRANSFORMS_RANKRANGES_H
#define ZERO_LIB_TRANSFORMS_RANKRANGES_H

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Interfaces.h"

namespace mlir::zero {

/// The range of a combined factor of `whole` indices that each rank of `over`
/// has: as many of them in order. What it builds stands where `builder` is.
class AxisRange final : public RankRange {
public:
  AxisRange(OpBuilder &builder, Location loc, int64_t whole, AxesAttr over)
      : builder(builder), loc(loc), whole(whole), over(over) {}

  int64_t getWholeSize() const override { return whole; }
  int64_t getSize() const override { return whole / over.getSize(); }
  Value getFirst() override;
  Value sum(Value term) override;
  Value gather(Value value) override;

private:
  OpBuilder &builder;
  Location loc;
  int64_t whole;
  AxesAttr over;
};

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_RANKRANGES_H
