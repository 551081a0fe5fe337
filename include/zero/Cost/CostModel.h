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
#include "zero/Dialect/Zero/Zero.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Operation.h"

#include <memory>

namespace mlir::zero {

/// The ranks of a group, as a machine sees them.
struct GroupSpan {
  int64_t ranks = 1;
  /// The number of these ranks that share a node.
  int64_t local = 1;
};

/// Bytes that the kernels of a rank want on its GPU beside what is planned, at
/// most; 0 on machines without GPUs, whose kernels' scratch memory no plan has.
int64_t workspaceOn(const Machine &machine, const zrt::Program &program);

/// Times on one machine with one rank count. Looking up what was measured is
/// a few comparisons; building the tables takes as long as they are.
class CostModel {
public:
  /// Collectives run over all ranks.
  CostModel(const Machine &machine, int64_t ranks);
  /// Ranks are those of `mesh`, and states are cut over its axes `cut`.
  CostModel(const Machine &machine, AxesAttr mesh, AxesAttr cut);
  ~CostModel();

  /// Seconds of a kernel on one rank, while the other ranks run it too.
  double kernelSeconds(const zrt::KernelSpec &spec) const;

  /// Seconds of a kernel that runs on `stream`, a copy over the bus or an
  /// update by the host, while the other ranks run it too.
  double kernelSeconds(const zrt::KernelSpec &spec, StreamKind stream) const;

  /// Seconds of a collective of the ranks of `group`, from its start to its
  /// end, if nothing else runs. `bytes` is the size of its whole buffer.
  double collectiveSeconds(zrt::Collective kind, double bytes,
                           zrt::DataType type, GroupSpan group) const;
  /// Seconds of a collective of the ranks that states are cut over.
  double collectiveSeconds(zrt::Collective kind, double bytes,
                           zrt::DataType type) const {
    return collectiveSeconds(kind, bytes, type, cut);
  }

  /// Seconds of what `op` does on one rank, by its results, its partition and
  /// the attributes of its step; it need not be planned. A collective counts
  /// where it starts; views, waits, loads and frees are free. The symbols of
  /// the operation's module stay as they are while the model is in use.
  double costOf(Operation *op) const;

  const Machine &getMachine() const { return machine; }
  /// All ranks, which run at once.
  int64_t getRanks() const { return ranks; }
  GroupSpan getAll() const { return all; }
  GroupSpan getCut() const { return cut; }
  /// The span of a group of these axes of the mesh; null for all ranks.
  GroupSpan getSpan(AxesAttr group) const;
  /// The ranks that have the stages of one pipeline.
  GroupSpan getStages() const;

private:
  struct Tables;

  CostModel(const Machine &machine, GroupSpan all, GroupSpan cut,
            AxesAttr mesh);

  const Machine &machine;
  int64_t ranks;
  GroupSpan all, cut;
  AxesAttr mesh;
  std::unique_ptr<Tables> tables;
};

/// The span of `group`, axes of `mesh`, on `machine`, whose nodes hold
/// neighbouring ranks: the ranks of rank 0's group, and those of them on its
/// node.
GroupSpan spanOf(const Machine &machine, AxesAttr mesh, AxesAttr group);

/// The machine that `name` says, or where it is empty that of the step's
/// training; an error at the step where it cannot be read.
FailureOr<Machine> readMachine(StepOp step, StringRef name);

/// The model of the ranks of `module`, whose step has `training`.
CostModel makeCostModel(const Machine &machine, ModuleOp module,
                        TrainingAttr training);

/// `CostModel::costOf` for one operation, with the ranks of its step, or one
/// where it has none. For many operations keep a CostModel.
double costOf(Operation *op, const Machine &machine);

} // namespace mlir::zero

#endif // ZERO_COST_COSTMODEL_H
