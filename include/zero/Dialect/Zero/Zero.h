//===- Zero.h - the zero dialect ------------------------------------------===//
#ifndef ZERO_DIALECT_ZERO_ZERO_H
#define ZERO_DIALECT_ZERO_ZERO_H

#include "zero/Dialect/Zero/Optimizer.h"
#include "zero/Interfaces/Interfaces.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::zero {

/// The link between ranks: collectives and waits read and write it.
struct LinkResource : SideEffects::Resource::Base<LinkResource> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LinkResource)
  StringRef getName() final { return "zero.link"; }
};

/// State that outlives a step: parameters, gradients, moments, loss scale.
struct StateResource : SideEffects::Resource::Base<StateResource> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StateResource)
  StringRef getName() final { return "zero.state"; }
};

/// Values that stages of a pipeline send each other, and keep for later passes.
struct StageResource : SideEffects::Resource::Base<StageResource> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StageResource)
  StringRef getName() final { return "zero.stage"; }
};

/// The beginning of recomputation: operations behind it are computed again, and
/// not merged with those in front of it.
struct RecomputeResource : SideEffects::Resource::Base<RecomputeResource> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RecomputeResource)
  StringRef getName() final { return "zero.recompute"; }
};

/// The attribute of the module around the stages of a pipeline: the names of
/// all parameters, in the order of their declarations in the whole model.
inline constexpr StringRef kDeclaredParameters = "zero.parameters";

/// The argument attribute of a step that names the parameter whose gradient of
/// a micro-batch comes from outside; an argument without it is an input.
inline constexpr StringLiteral kGradientOf = "zero.gradient_of";

/// The argument attribute of a step that names an input of the batch.
inline constexpr StringLiteral kInput = "zero.input";

/// The attribute with the places of an operation's buffers, or of a step's
/// inputs, which memory planning sets.
inline constexpr StringLiteral kPlaces = "zero.at";

/// The attribute with the rank that a specialised step is for.
inline constexpr StringLiteral kRank = "zero.rank";

/// The trait of operations that hold the regions of a step.
template <typename ConcreteType>
class StepRegion : public OpTrait::TraitBase<ConcreteType, StepRegion> {};

/// A double as attributes store it: equal and hashed by its bits.
struct Real {
  double value;
  Real(double value = 0) : value(value) {}
  operator double() const { return value; }
  bool operator==(const Real &other) const {
    return llvm::bit_cast<uint64_t>(value) ==
           llvm::bit_cast<uint64_t>(other.value);
  }
  friend llvm::hash_code hash_value(const Real &real) {
    return llvm::hash_value(llvm::bit_cast<uint64_t>(real.value));
  }
};

/// Parses a float or integer literal.
FailureOr<Real> parseDouble(AsmParser &parser);
/// Prints `value` in the shortest form that parses to the same bits.
void printDouble(AsmPrinter &printer, double value);
/// Parses `true` or `false`.
FailureOr<bool> parseBool(AsmParser &parser);

} // namespace mlir::zero

#include "zero/Dialect/Zero/ZeroDialect.h.inc"
#include "zero/Dialect/Zero/ZeroEnums.h.inc"

namespace mlir::zero {

// `toRuntime` and `fromRuntime`: the only casts between the dialect's
// enumerations and those of programs.
#include "zero/Dialect/Zero/RuntimeEnums.h.inc"

/// The memory of one arena in one tier, numbered as the runtime numbers it:
/// the arenas of the device first.
struct MemorySpace {
  ArenaKind arena;
  MemoryTier tier;
  /// An arena of the device, unless another tier is given.
  MemorySpace(ArenaKind arena, MemoryTier tier = MemoryTier::Device)
      : arena(arena), tier(tier) {}

  static constexpr int kCount = zrt::kSpaceCount;

  static MemorySpace at(int index) {
    return {fromRuntime(zrt::arenaOf(index)), fromRuntime(zrt::tierOf(index))};
  }
  int index() const { return zrt::spaceOf(toRuntime(arena), toRuntime(tier)); }
  bool operator==(MemorySpace other) const { return index() == other.index(); }
  bool operator!=(MemorySpace other) const { return index() != other.index(); }
  /// "optimizer", or "optimizer on host" for another tier than the device.
  std::string describe() const;
};

} // namespace mlir::zero

#include "zero/Dialect/Zero/OptimizerAttrInterface.h.inc"

namespace mlir::zero {
struct PlanningSettings;
} // namespace mlir::zero

#define GET_ATTRDEF_CLASSES
#include "zero/Dialect/Zero/ZeroAttrs.h.inc"

namespace mlir::zero {

/// The parameters of `#zero.planning` by name: the keys of a configuration that
/// schedules are planned with, and values that follow from other keys.
struct PlanningSettings {
#define PLANNED(type, name, parameter, initial, ...) type name = initial;
#include "zero/Config/PlannedSettings.inc"
  bool contiguous = false;
  DictionaryAttr stateTiers;
  OffloadAttr offload;
  QuantizationAttr quantizedWeights, quantizedFrozen, quantizedGradients;
  AxesAttr gradientsWithin;
  FeedbackAttr errorFeedback;
};

} // namespace mlir::zero

#define GET_TYPEDEF_CLASSES
#include "zero/Dialect/Zero/ZeroTypes.h.inc"

#include "zero/Dialect/Zero/Async.h"

namespace mlir::zero {

/// A tensor of a kernel as a part of an operand or a result of `zero.strided`.
struct StridedPart {
  unsigned index = 0;
  TensorLayout layout;
};

/// The parts of a kernel's operands and results, in order.
struct StridedParts {
  SmallVector<StridedPart> operands, results;
};

} // namespace mlir::zero

#define GET_OP_CLASSES
#include "zero/Dialect/Zero/ZeroOps.h.inc"

#endif // ZERO_DIALECT_ZERO_ZERO_H
