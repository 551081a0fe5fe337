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
  AxisRange(OpBuilder &builder, Location loc, int64_t whole, AxesAttr over,
            SmallVector<int64_t> dims)
      : builder(builder), loc(loc), whole(whole), over(over),
        dims(std::move(dims)) {}

  int64_t getWholeSize() const override { return whole; }
  int64_t getSize() const override { return whole / over.getSize(); }
  int64_t getDim(unsigned operand) const override { return dims[operand]; }
  Value getFirst() override;
  Value sum(Value term) override;
  Value gather(Value value) override;
  Value gatherAlong(Value value, int64_t dim) override;

private:
  OpBuilder &builder;
  Location loc;
  int64_t whole;
  AxesAttr over;
  SmallVector<int64_t> dims;
};

} // namespace mlir::zero

#endif // ZERO_LIB_TRANSFORMS_RANKRANGES_H
