//===- VerifyMarks.cpp - what is trained, and of which type ---------------===//
//
// A parameter says whether it is trained, by its marks; a schedule says so by
// the gradients that it names and the partitions that it updates. The type of a
// partition is that of what reads and trains its parameters.
//
//===----------------------------------------------------------------------===//

#include "zero/Analysis/GivenGradients.h"
#include "zero/Verify/Verify.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

/// The partition of `parameter` is trained as its marks say.
static LogicalResult verifyMark(ParameterOp parameter, PartitionOp owner) {
  const bool isTrained = owner.isTrainable();
  StringRef mark = parameter.getFrozen()   ? "frozen"
                   : parameter.getUnused() ? "unused"
                                           : "";
  if (isTrained == mark.empty())
    return success();
  InFlightDiagnostic error = parameter.emitOpError();
  if (isTrained)
    error << "is " << mark << ", and @" << owner.getSymName()
          << " trains it: wanted a partition without an optimizer, or a "
             "parameter that is not "
          << mark;
  else
    error << "is trainable, and @" << owner.getSymName()
          << " does not train it: wanted a partition with its optimizer, or "
             "'frozen', or 'unused' where no gradient reaches it";
  error.attachNote(owner.getLoc()) << "its partition";
  return error;
}

static LogicalResult verifyGradient(const Tables &tables, GradientOp gradient) {
  PartitionOp owner = tables.ownerOf(gradient.getParameterAttr());
  Type type =
      cast<RankedTensorType>(gradient.getValue().getType()).getElementType();
  if (owner && owner.isTrainable() && type == owner.getWireType())
    return success();
  InFlightDiagnostic error = gradient.emitOpError("is the gradient of ")
                             << gradient.getParameterAttr() << ", which ";
  if (owner && owner.isTrainable())
    error << "travels in " << owner.getWireType() << ", and has elements of "
          << type << "; wanted one type for both";
  else if (!owner)
    error << "is in no 'zero.partition'";
  else
    error << "@" << owner.getSymName() << " does not train";
  if (owner)
    error.attachNote(owner.getLoc()) << "its partition";
  return error;
}

/// An argument that is a gradient is one of a trained parameter, once: all of
/// it, in f32.
static LogicalResult verifyGiven(const Tables &tables) {
  DenseSet<Attribute> known;
  for (auto [index, type] : llvm::enumerate(tables.step.getArgumentTypes())) {
    Attribute given = tables.step.getArgAttr(index, kGradientOf);
    if (!given)
      continue;
    auto emitError = [&, index = index]() {
      return tables.step.emitOpError("argument ")
             << index << " has '" << kGradientOf << "' = " << given;
    };
    auto name = dyn_cast<FlatSymbolRefAttr>(given);
    PartitionOp owner = name ? tables.ownerOf(name) : PartitionOp();
    auto parameter = name ? SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
                                tables.step, name)
                          : ParameterOp();
    if (!parameter || !owner || !owner.isTrainable())
      return emitError()
             << ", wanted the symbol of a parameter that is trained";
    if (!known.insert(name).second)
      return emitError() << ", as another one";
    RankedTensorType wanted =
        parameter.getTensorType().clone(Float32Type::get(type.getContext()));
    if (type != wanted || tables.step.getArgAttr(index, kInput))
      return emitError() << " and type " << type << ", wanted " << wanted
                         << ", and no 'zero.input'";
  }
  return success();
}

/// Checks that a load has the type that the parameter's partition stores and
/// gathers.
static LogicalResult verifyLoad(const Tables &tables, LoadOp load) {
  PartitionOp owner = tables.ownerOf(load.getParameterAttr());
  if (!owner || load.getType().getElementType() == owner.getComputeType())
    return success();
  InFlightDiagnostic error =
      load.emitOpError("reads ")
      << load.getParameterAttr() << " as " << load.getType().getElementType()
      << ", and @" << owner.getSymName() << " computes in "
      << owner.getComputeType() << "; wanted one type for both";
  error.attachNote(owner.getLoc()) << "its partition";
  return error;
}

/// Sums over micro-batches are f32; one gradient has the type that it travels
/// in.
static LogicalResult verifyStored(const Tables &tables, PartitionOp partition) {
  Type wanted = partition.getWireType();
  if (tables.training.getAccumulation() > 1)
    wanted = Float32Type::get(partition.getContext());
  if (partition.getGradientType() == wanted)
    return success();
  return partition.emitOpError("stores gradients as ")
         << partition.getGradientType() << ", wanted " << wanted << ", for "
         << tables.training.getAccumulation() << " micro-batches an update of "
         << "parameters with gradients of " << partition.getWireType();
}

LogicalResult verify::verifyMarks(const Tables &tables) {
  if (failed(verifyGiven(tables)))
    return failure();
  for (PartitionOp partition : tables.trained)
    if (failed(verifyStored(tables, partition)))
      return failure();
  for (auto parameter : tables.module.getOps<ParameterOp>())
    if (PartitionOp owner = tables.getPartition(parameter.getSymNameAttr());
        owner && failed(verifyMark(parameter, owner)))
      return failure();
  WalkResult walk = tables.step->walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op))
      return WalkResult(verifyLoad(tables, load));
    if (auto gradient = dyn_cast<GradientOp>(op))
      return WalkResult(verifyGradient(tables, gradient));
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}
