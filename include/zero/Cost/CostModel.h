//===- CostModel.h - how long operations take -----------------------------===//
//
// A kernel takes what was measured of it, or of kernels like it; where nothing
// was, what the roofline says. A collective takes what was measured, or what
// its ring does. All times in seconds.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_COST_COSTMODEL_H
#define ZERO_COST_COSTMODEL_H

#include "zero/Cost/Machine.h"

#include "mlir/IR/Operation.h"

#include <memory>

namespace mlir::zero {

/// Times on one machine with one rank count. Looking up what was measured is
/// a few comparisons; building the tables takes as long as they are.
class CostModel {
public:
  CostModel(const Machine &machine, int64_t ranks);
  ~CostModel();

  /// One run of a kernel on one rank, while the others do the same.
  double kernelSeconds(const zrt::KernelSpec &spec) const;

  /// A collective from its start to its end where nothing else runs. `bytes`
  /// is what its whole buffer holds.
  double collectiveSeconds(zrt::Opcode kind, double bytes,
                           zrt::DataType type) const;

  /// Seconds of what `op` does on one rank, by its results, its partition and
  /// the attributes of its step; it need not be planned. A collective counts
  /// where it starts; views, waits, loads and frees are free. The symbols of
  /// the operation's module stay as they are while the model is in use.
  double costOf(Operation *op) const;

  const Machine &getMachine() const { return machine; }
  int64_t getRanks() const { return ranks; }

private:
  struct Tables;

  const Machine &machine;
  int64_t ranks;
  std::unique_ptr<Tables> tables;
};

/// `CostModel::costOf` for one operation, with the ranks of its step, or one
/// where it has none. For many operations keep a CostModel.
double costOf(Operation *op, const Machine &machine);

} // namespace mlir::zero

#endif // ZERO_COST_COSTMODEL_H
