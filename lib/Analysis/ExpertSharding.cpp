//===- ExpertSharding.cpp - what an axis cuts of experts ------------------===//

#include "zero/Analysis/ExpertSharding.h"

#include "zero/Analysis/Sharding.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::zero;
using zrt::FactorKind;

ExpertSharding::ExpertSharding(StepOp model, AxesAttr over)
    : model(model), body(&model.getBody().front()), over(over),
      dimensions(model, over.getSize()), trained(findTrainedValues(model)) {
  findSorts();
  findRoles();
}

//===----------------------------------------------------------------------===//
// Rows and experts
//===----------------------------------------------------------------------===//

static bool hasFactor(const zrt::FactoredTensor &tensor, size_t factor) {
  return llvm::any_of(tensor.dimensions, [&](const zrt::FactoredDim &dim) {
    return llvm::any_of(dim.parts, [&](const auto &part) {
      return part.segments.empty() && part.factor == factor;
    });
  });
}

static bool anyHas(ArrayRef<zrt::FactoredTensor> tensors, size_t factor) {
  return llvm::any_of(tensors, [&](const zrt::FactoredTensor &tensor) {
    return hasFactor(tensor, factor);
  });
}

/// Finds operations that sort rows by expert: they have a combined factor, and
/// results with rows that no operand has.
void ExpertSharding::findSorts() {
  for (Operation &op : *body) {
    if (!isa<CombinedOpInterface>(op))
      continue;
    const Dimensions::Factored &factored = dimensions.of(&op);
    std::optional<DimensionId> order, combined;
    for (auto [index, factor] : llvm::enumerate(factored.factors.factors)) {
      bool isMade = anyHas(factored.factors.results, index) &&
                    !anyHas(factored.factors.operands, index);
      if (isMade && factor.kind == FactorKind::OwnOrder)
        order = factored.dimensions[index];
      if (isMade && factor.kind == FactorKind::Combined)
        combined = factored.dimensions[index];
    }
    if (!order || !combined)
      continue;
    roles[&op] = Role::Sorts;
    for (DimensionId atom : dimensions.atomsOf(*order))
      rows.insert(atom);
    for (DimensionId atom : dimensions.atomsOf(*combined))
      experts.insert(atom);
  }
}

bool ExpertSharding::hasRows(DimensionId dim) const {
  return llvm::any_of(
      rows, [&](DimensionId atom) { return dimensions.contains(dim, atom); });
}

bool ExpertSharding::hasExperts(DimensionId dim) const {
  return llvm::any_of(experts, [&](DimensionId atom) {
    return dimensions.contains(dim, atom);
  });
}

bool ExpertSharding::isInside(ValueRange values) const {
  return llvm::any_of(values, [&](Value value) {
    return llvm::any_of(dimensions.of(value), [&](DimensionId dim) {
      return hasRows(dim) || hasExperts(dim);
    });
  });
}

void ExpertSharding::findRoles() {
  ofSamples.insert(body->args_begin(), body->args_end());
  for (Operation &op : *body) {
    if (llvm::any_of(op.getOperands(), [&](Value operand) {
          return ofSamples.contains(operand);
        }))
      ofSamples.insert(op.result_begin(), op.result_end());
    if (roles.contains(&op))
      continue;
    if (isInside(op.getResults()))
      roles[&op] = Role::Between;
    else if (isInside(op.getOperands()))
      roles[&op] = Role::Returns;
  }
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

int64_t ExpertSharding::countExperts(Operation *op) const {
  const Dimensions::Factored &factored = dimensions.of(op);
  for (auto [factor, dim] :
       llvm::zip_equal(factored.factors.factors, factored.dimensions))
    if (factor.kind == FactorKind::Combined)
      return dimensions.sizeOf(dim);
  llvm_unreachable("the operation sorts rows by experts");
}

int64_t ExpertSharding::scaled(DimensionId dim) const {
  int64_t size = dimensions.sizeOf(dim);
  if (hasRows(dim))
    size *= over.getSize();
  return hasExperts(dim) ? size / over.getSize() : size;
}

int64_t ExpertSharding::sizeOf(Operation *op, size_t factor) const {
  return scaled(dimensions.of(op).dimensions[factor]);
}

RankedTensorType ExpertSharding::typeOf(Value value) const {
  auto type = cast<RankedTensorType>(value.getType());
  return type.clone(llvm::map_to_vector(
      dimensions.of(value), [&](DimensionId dim) { return scaled(dim); }));
}

CutAttr ExpertSharding::cutOf(ParameterOp parameter) const {
  ArrayRef<DimensionId> dims = dimensions.of(parameter.getSymNameAttr());
  for (auto [index, dim] : llvm::enumerate(dims))
    for (DimensionId atom : experts)
      if (dimensions.contains(dim, atom)) {
        Dimensions::Pieces pieces = dimensions.piecesOf(dim, atom);
        return CutAttr::get(over.getContext(), static_cast<int64_t>(index),
                            pieces.repeats, pieces.sizes, over);
      }
  return {};
}

//===----------------------------------------------------------------------===//
// Whether it can be
//===----------------------------------------------------------------------===//

LogicalResult mlir::zero::verifyExperts(Operation *op, int64_t experts,
                                        AxesAttr over) {
  if (experts % over.getSize() == 0)
    return success();
  return op->emitError() << "rows go to " << experts << " experts, which "
                         << over.getSize() << " ranks of " << over
                         << " do not divide; give the axis a divisor of "
                         << experts;
}

LogicalResult mlir::zero::reportNeedsAll(Operation *op, AxesAttr over) {
  return op->emitError()
         << "'" << op->getName()
         << "' needs all experts, or the rows of all, and over " << over
         << " a rank has some experts and their rows; leave the axis out";
}

LogicalResult mlir::zero::verifyHasCut(ParameterOp parameter, AxesAttr over,
                                       bool isCutTwice) {
  StringRef why = isCutTwice ? "has experts in more than one dimension"
                  : parameter.getAverage() ? "is an average"
                  : parameter.getRows()    ? "has rows of padding"
                                           : "";
  if (why.empty())
    return success();
  return parameter.emitError()
         << "parameter @" << parameter.getSymName() << ' ' << why
         << ", and cannot be cut over " << over << "; leave the axis out";
}

/// A rank makes the order of all rows for its range of the experts: of all
/// choices, and of no range that the model gives.
LogicalResult ExpertSharding::verifySort(Operation *op) const {
  const Dimensions::Factored &factored = dimensions.of(op);
  int64_t kept = 0, choices = 0;
  for (auto [index, tensor] : llvm::enumerate(factored.factors.operands)) {
    bool hasRowsOfAll =
        llvm::any_of(tensor.dimensions, [&](const zrt::FactoredDim &dim) {
          return llvm::any_of(dim.parts, [&](const auto &part) {
            return part.segments.empty() &&
                   factored.factors.factors[part.factor].kind ==
                       FactorKind::OwnOrder;
          });
        });
    if (!hasRowsOfAll)
      return op->emitError()
             << "'" << op->getName() << "' says by operand " << index
             << " which experts it sorts for, which over " << over
             << " are those of each rank; leave the operand out, or the axis";
    auto type = cast<RankedTensorType>(op->getOperand(index).getType());
    if (type.getElementType().isInteger())
      choices = std::max(choices, type.getNumElements());
  }
  for (auto [factor, dim] :
       llvm::zip_equal(factored.factors.factors, factored.dimensions))
    if (hasRows(dim) && factor.kind == FactorKind::OwnOrder)
      kept = dimensions.sizeOf(dim);
  if (choices == 0 || kept < choices)
    return op->emitError() << "'" << op->getName() << "' has room for " << kept
                           << " of " << choices << " choices, and over " << over
                           << " other ones would be left out; wanted room for "
                              "all, and at least "
                              "one";
  if (failed(verifyExperts(op, countExperts(op), over)))
    return failure();
  for (Operation *user : op->getUsers())
    if (roleOf(user) == Role::Own)
      return user->emitError()
             << "'" << user->getName()
             << "' reads where rows went that were sorted by experts, which "
                "over "
             << over << " are those of all ranks; leave the axis out";
  return success();
}

/// Whether each result has a dimension of those places that `op` reads, by
/// which it goes back to the ranks.
bool ExpertSharding::returnsByPlaces(Operation *op) const {
  const zrt::Factors &factors = dimensions.of(op).factors;
  auto isOfPlaces = [&](size_t factor) {
    for (auto [operand, tensor] :
         llvm::zip_equal(op->getOperands(), factors.operands))
      if (cast<RankedTensorType>(operand.getType())
              .getElementType()
              .isInteger() &&
          hasFactor(tensor, factor))
        return true;
    return false;
  };
  return llvm::all_of(factors.results, [&](const zrt::FactoredTensor &result) {
    return llvm::any_of(
        llvm::seq<size_t>(0, factors.factors.size()), [&](size_t factor) {
          return hasFactor(result, factor) && isOfPlaces(factor);
        });
  });
}

/// Rows are in an order of each rank's own, and experts are ranges. What
/// returns is the sum of such rows.
LogicalResult ExpertSharding::verifyFactors(Operation *op) const {
  const Dimensions::Factored &factored = dimensions.of(op);
  SplatElementsAttr splat;
  bool fits = factored.agrees && op->getNumRegions() == 0 &&
              (isMemoryEffectFree(op) || isa<LoadOp>(op)) &&
              (!op->hasTrait<OpTrait::ConstantLike>() ||
               matchPattern(op, m_Constant(&splat))) &&
              llvm::none_of(factored.apart, [&](DimensionId dim) {
                return hasRows(dim) || hasExperts(dim);
              });
  bool readsRows = false;
  for (auto [factor, dim] :
       llvm::zip_equal(factored.factors.factors, factored.dimensions)) {
    if (hasRows(dim))
      fits &= !isa<LoadOp>(op) && (factor.kind == FactorKind::Parallel ||
                                   factor.kind == FactorKind::OwnOrder);
    if (hasExperts(dim))
      fits &= factor.kind == FactorKind::Parallel ||
              factor.kind == FactorKind::Combined;
    readsRows |= hasRows(dim) && factor.kind == FactorKind::OwnOrder;
  }
  fits &= roleOf(op) != Role::Returns || (readsRows && returnsByPlaces(op));
  if (fits)
    return success();
  return reportNeedsAll(op, over);
}

/// Checks that operands beside sorted rows are made from such rows, or from no
/// samples.
LogicalResult ExpertSharding::verifyOperands(Operation *op) const {
  if (roleOf(op) == Role::Returns)
    return success();
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    Operation *maker = operand.getDefiningOp();
    bool isSorted =
        maker && roleOf(maker) != Role::Own && roleOf(maker) != Role::Returns;
    if (isSorted || !isOfSamples(operand))
      continue;
    return op->emitError()
           << "'" << op->getName() << "' reads operand " << index
           << ", which follows from the samples, with rows that are sorted by "
              "experts, and over "
           << over
           << " a rank has rows of other ranks' samples; compute it "
              "before the rows are sorted, or leave the axis out";
  }
  return success();
}

LogicalResult ExpertSharding::verifyParameters() const {
  for (ParameterOp parameter :
       model->getParentOfType<ModuleOp>().getOps<ParameterOp>()) {
    int64_t cut =
        llvm::count_if(dimensions.of(parameter.getSymNameAttr()),
                       [&](DimensionId dim) { return hasExperts(dim); });
    if (cut > 0 && failed(verifyHasCut(parameter, over, cut > 1)))
      return failure();
  }
  return success();
}

LogicalResult ExpertSharding::verify(bool isNeeded) const {
  StepOp step = model;
  bool sorts = false;
  for (Operation &op : *body) {
    Role role = roleOf(&op);
    sorts |= role == Role::Sorts;
    if (role == Role::Sorts && failed(verifySort(&op)))
      return failure();
    if ((role == Role::Between || role == Role::Returns) &&
        (failed(verifyFactors(&op)) || failed(verifyOperands(&op))))
      return failure();
  }
  if (!sorts && isNeeded)
    return step.emitError()
           << "the model @" << step.getSymName() << " has no experts, of which "
           << over << " would give each rank some; leave the axis out";
  return verifyParameters();
}
