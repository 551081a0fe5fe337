//===- Sharding.cpp - what an axis cuts of a model ------------------------===//

#include "zero/Analysis/Sharding.h"

#include "zero/Interfaces/KernelSpec.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "program/KernelSchema.h"

using namespace mlir;
using namespace mlir::zero;

/// A class is cut where each byte that is sent for it spares at least so many
/// operations, or so many bytes of state, and the whole class at least this
/// part of what the largest one does: an exchange takes a while, however little
/// it sends.
static constexpr double kLeastFlopsPerByte = 4, kLeastStatePerByte = 6,
                        kLeastShare = 1.0 / 16;

/// Bytes of state of an element: it, its gradient and two moments, in f32.
static constexpr double kStateBytes = 16;

/// The backward pass computes two products for each of the forward pass.
static constexpr double kPasses = 3;

Sharding::Sharding(StepOp model, AxesAttr over, bool cutsRows,
                   ArrayRef<Value> copies)
    : model(model), body(&model.getBody().front()), over(over),
      dimensions(model, over.getSize()), trained(findTrainedValues(model)) {
  SymbolTable symbols(model->getParentOfType<ModuleOp>());
  llvm::SetVector<ParameterOp> loaded;
  for (auto load : model.getOps<LoadOp>())
    loaded.insert(symbols.lookup<ParameterOp>(load.getParameter()));
  parameters = loaded.takeVector();
  isBesideParts = isOfSequence() && llvm::any_of(parameters, [](ParameterOp p) {
                    return p.getCuts().has_value();
                  });
  for (Value copy : copies)
    copying.insert(copy.getDefiningOp());
  collect();
  if (isOfSequence())
    cutPositions();
  else
    choose();
  if (cutsRows && !isOfSequence())
    cutRows();
}

//===----------------------------------------------------------------------===//
// What the model has
//===----------------------------------------------------------------------===//

void Sharding::collect() {
  for (Operation &op : *body) {
    llvm::SetVector<DimensionId> atoms;
    for (DimensionId dim : dimensions.of(&op).dimensions)
      for (DimensionId atom : dimensions.atomsOf(dim))
        atoms.insert(atom);
    for (DimensionId atom : atoms)
      uses[atom].push_back(&op);
  }
  for (ParameterOp parameter : parameters)
    for (DimensionId atom : atomsOf(parameter))
      owners[atom].push_back(parameter);
  for (auto load : body->getOps<LoadOp>())
    loads[load.getParameterAttr().getAttr()].push_back(load);
}

llvm::SetVector<DimensionId> Sharding::atomsOf(ParameterOp parameter) const {
  llvm::SetVector<DimensionId> atoms;
  for (DimensionId dim : dimensions.of(parameter.getSymNameAttr()))
    atoms.insert_range(dimensions.atomsOf(dim));
  return atoms;
}

DenseSet<Value> mlir::zero::findTrainedValues(StepOp model) {
  SymbolTable symbols(model->getParentOfType<ModuleOp>());
  DenseSet<Value> trained;
  for (Operation &op : model.getBody().front()) {
    auto load = dyn_cast<LoadOp>(op);
    auto parameter =
        load ? symbols.lookup<ParameterOp>(load.getParameter()) : ParameterOp();
    bool isTrained = load ? parameter.isTrained()
                          : llvm::any_of(op.getOperands(), [&](Value operand) {
                              return trained.contains(operand);
                            });
    for (Value result : op.getResults())
      if (isTrained && isa<FloatType>(getElementTypeOrSelf(result.getType())))
        trained.insert(result);
  }
  return trained;
}

//===----------------------------------------------------------------------===//
// Whether an operation can be cut
//===----------------------------------------------------------------------===//

/// The one dimension that `atom` cuts; none where it is in none, in several, or
/// leaves a segment of one whole.
std::optional<unsigned> Sharding::findDimension(ArrayRef<DimensionId> dims,
                                                DimensionId atom) const {
  std::optional<unsigned> found;
  for (auto [index, dim] : llvm::enumerate(dims)) {
    if (!dimensions.contains(dim, atom))
      continue;
    if (found || !dimensions.isCutBy(dim, atom))
      return std::nullopt;
    found = index;
  }
  return found;
}

static bool containsAtom(const Dimensions &dimensions,
                         ArrayRef<DimensionId> dims, DimensionId atom) {
  return llvm::any_of(
      dims, [&](DimensionId dim) { return dimensions.contains(dim, atom); });
}

/// Whether ranks can compute `op` of their ranges of its combined factor `dim`,
/// where `atom` is cut: of all of it, as one range each.
bool Sharding::canCombine(Operation *op, DimensionId dim,
                          DimensionId atom) const {
  if (!isa<CombinedOpInterface>(op) || !dimensions.isCutBy(dim, atom) ||
      dimensions.sizeOf(atom) % over.getSize() != 0)
    return false;
  Dimensions::Pieces pieces = dimensions.piecesOf(dim, atom);
  return pieces.repeats == 1 && pieces.sizes.size() == 1;
}

/// The kind of the factor of `op` that `atom` cuts; none where the operation
/// needs all of it.
std::optional<zrt::FactorKind> Sharding::findKind(Operation *op,
                                                  DimensionId atom) const {
  const Dimensions::Factored &factored = dimensions.of(op);
  std::optional<zrt::FactorKind> kind;
  for (auto [factor, dim] :
       llvm::zip_equal(factored.factors.factors, factored.dimensions)) {
    if (!dimensions.contains(dim, atom))
      continue;
    bool canCut =
        factor.kind == zrt::FactorKind::Parallel ||
        factor.kind == zrt::FactorKind::Sum ||
        (factor.kind == zrt::FactorKind::Combined && canCombine(op, dim, atom));
    if (!canCut || !dimensions.isCutBy(dim, atom) ||
        (kind && *kind != factor.kind))
      return std::nullopt;
    kind = factor.kind;
  }
  return kind;
}

bool Sharding::fitsOperands(Operation *op, DimensionId atom) const {
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    ArrayRef<DimensionId> dims = dimensions.of(operand);
    return !containsAtom(dimensions, dims, atom) || findDimension(dims, atom);
  });
}

/// A result without the class is the term of a sum, or combined, or nothing
/// reads it: ranks would each add its gradient to what they share.
bool Sharding::fitsResults(Operation *op, const OperationCut &cut) const {
  return llvm::all_of(op->getResults(), [&](Value result) {
    ArrayRef<DimensionId> dims = dimensions.of(result);
    if (!isa<RankedTensorType>(result.getType()))
      return false;
    if (!containsAtom(dimensions, dims, cut.atom))
      return cut.isSum || cut.isCombined || result.use_empty();
    return findDimension(dims, cut.atom).has_value();
  });
}

/// Addends are counted once, behind the sum: of one result.
static bool fitsAddends(Operation *op, const zrt::Factors &factors) {
  return op->getNumResults() == 1 ||
         llvm::none_of(factors.operands, [](const zrt::FactoredTensor &tensor) {
           return tensor.isAddend;
         });
}

std::optional<Sharding::OperationCut>
Sharding::findCut(Operation *op, DimensionId atom) const {
  SplatElementsAttr splat;
  bool isSplat = matchPattern(op, m_Constant(&splat));
  if (!dimensions.of(op).agrees || op->getNumRegions() != 0 ||
      op->getNumResults() == 0 ||
      containsAtom(dimensions, dimensions.of(op).apart, atom) ||
      (!isMemoryEffectFree(op) && !isa<LoadOp>(op)) ||
      (op->hasTrait<OpTrait::ConstantLike>() && !isSplat))
    return std::nullopt;
  std::optional<zrt::FactorKind> kind = findKind(op, atom);
  if (!kind || !fitsOperands(op, atom))
    return std::nullopt;
  OperationCut cut{dimensions.find(atom)};
  cut.isCombined = kind == zrt::FactorKind::Combined;
  cut.isSum = cut.isCombined ? cast<CombinedOpInterface>(op).givesTerms()
                             : kind == zrt::FactorKind::Sum;
  if (!fitsResults(op, cut) ||
      (cut.isSum && !fitsAddends(op, dimensions.of(op).factors)))
    return std::nullopt;
  return cut;
}

/// Padding is behind all rows of a parameter, so that ranks have ranges of
/// them.
bool Sharding::mayCut(ParameterOp parameter, DimensionId atom) const {
  ArrayRef<DimensionId> dims = dimensions.of(parameter.getSymNameAttr());
  std::optional<unsigned> dim = findDimension(dims, atom);
  bool keepsPadding =
      !parameter.getRows() ||
      (dim && *dim == 0 && dimensions.find(dims[0]) == dimensions.find(atom));
  return dim && keepsPadding && !parameter.getAverage();
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

static double bytesOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return static_cast<double>(type.getNumElements()) *
         std::max(type.getElementTypeBitWidth() / 8, 1u);
}

static double flopsOf(Operation *op) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  if (!kernel)
    return 0;
  zrt::KernelSpec spec = toKernelSpec(op, kernel.describeKernel());
  zrt::countWork(spec);
  return static_cast<double>(spec.flops);
}

/// A sum is all-reduced in the forward pass, what cut operations share in the
/// backward pass; what needs all of a class gathers it before, and where it is
/// cut again its gradient behind.
CutCost Sharding::price(DimensionId atom) const {
  CutCost cost{atom, dimensions.sizeOf(atom)};
  double ranks = static_cast<double>(over.getSize());
  llvm::SetVector<Value> reduced, gathered;
  SmallVector<Operation *> whole;
  for (Operation *op : usesOf(atom)) {
    std::optional<OperationCut> cut = findCut(op, atom);
    if (!cut) {
      whole.push_back(op);
      continue;
    }
    cost.savedFlops += kPasses * flopsOf(op) * (1 - 1 / ranks);
    for (Value result : op->getResults())
      if ((cut->isSum || cut->isCombined) &&
          !containsAtom(dimensions, dimensions.of(result), atom))
        cost.bytes += 2 * bytesOf(result);
    for (Value operand : op->getOperands())
      if (trained.contains(operand) &&
          !containsAtom(dimensions, dimensions.of(operand), atom))
        reduced.insert(operand);
  }
  for (Operation *op : whole)
    for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                           llvm::to_vector(op->getResults())))
      if (findDimension(dimensions.of(value), atom))
        gathered.insert(value);
  for (ParameterOp parameter : ownersOf(atom))
    if (findDimension(dimensions.of(parameter.getSymNameAttr()), atom))
      cost.savedState += static_cast<double>(parameter.getElements()) *
                         kStateBytes * (1 - 1 / ranks);
  for (Value value : reduced)
    cost.bytes += 2 * bytesOf(value);
  for (Value value : gathered)
    cost.bytes += bytesOf(value);
  cost.bytes *= (ranks - 1) / ranks;
  return cost;
}

static double worthOf(const CutCost &cost) {
  return cost.savedFlops / std::max(cost.bytes, 1.0);
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

bool Sharding::isOfResults(Operation *op, DimensionId atom) const {
  return llvm::all_of(op->getResults(), [&](Value result) {
    return containsAtom(dimensions, dimensions.of(result), atom);
  });
}

/// Classes that a parameter cannot be cut by, or that an operation would have
/// to combine which cannot: what has them in its results is whole instead.
SmallVector<DimensionId> Sharding::findRefused() const {
  llvm::SetVector<DimensionId> refused;
  for (ParameterOp parameter : parameters)
    for (DimensionId atom : atomsOf(parameter))
      if (!mayCut(parameter, atom))
        refused.insert(atom);
  // The dimensions other than the one that the model names to be cut; all of
  // them if the model says that none is.
  for (ParameterOp parameter : parameters)
    if (std::optional<int64_t> wanted = parameter.getSharding())
      for (auto [index, dim] :
           llvm::enumerate(dimensions.of(parameter.getSymNameAttr())))
        if (static_cast<int64_t>(index) != *wanted)
          for (DimensionId atom : dimensions.atomsOf(dim))
            refused.insert(atom);
  for (Operation &op : *body) {
    const Dimensions::Factored &factored = dimensions.of(&op);
    for (auto [factor, dim] :
         llvm::zip_equal(factored.factors.factors, factored.dimensions))
      if (factor.kind == zrt::FactorKind::Combined)
        for (DimensionId atom : dimensions.atomsOf(dim))
          if (!canCombine(&op, dim, atom) && !isOfResults(&op, atom))
            refused.insert(atom);
  }
  return refused.takeVector();
}

/// The class that cuts the dimension which the model says of a parameter; the
/// most worth of several.
std::optional<CutCost> Sharding::findForced(ParameterOp parameter) const {
  std::optional<int64_t> wanted = parameter.getSharding();
  if (!wanted || *wanted < 0)
    return std::nullopt;
  std::optional<CutCost> best;
  ArrayRef<DimensionId> dims = dimensions.of(parameter.getSymNameAttr());
  for (DimensionId atom : dimensions.atomsOf(dims[*wanted])) {
    std::optional<unsigned> dim = findDimension(dims, atom);
    if (dim != static_cast<unsigned>(*wanted) || !mayCut(parameter, atom) ||
        dimensions.sizeOf(atom) % over.getSize() != 0)
      continue;
    CutCost cost = price(atom);
    cost.isForced = true;
    if (!best || worthOf(cost) > worthOf(*best))
      best = cost;
  }
  return best;
}

/// Whether a rank would have one index, and an operation needs all of them and
/// leaves none, as what takes queries, keys and values apart: no rank gains by
/// that, and `zero-verify-values` cannot tell which dimension the gather
/// restores. Of fewer indices than ranks that holds for what copies them.
bool Sharding::isOneEachAndGathered(DimensionId atom) const {
  auto needsAll = [&](Operation &op) {
    const Dimensions::Factored &factored = dimensions.of(&op);
    return containsAtom(dimensions, factored.apart, atom) ||
           (containsAtom(dimensions, factored.dimensions, atom) &&
            !findCut(&op, atom) &&
            llvm::none_of(op.getResults(), [&](Value result) {
              return containsAtom(dimensions, dimensions.of(result), atom);
            }));
  };
  const int64_t size = dimensions.sizeOf(atom);
  return llvm::any_of(*body, [&](Operation &op) {
    return (size == over.getSize() ||
            (size < over.getSize() && copying.contains(&op))) &&
           needsAll(op);
  });
}

/// Whether the data has such a dimension, as images have channels, of which
/// nobody expects that ranks divide them.
bool Sharding::isOfInput(DimensionId atom) const {
  return llvm::any_of(body->getArguments(), [&](BlockArgument input) {
    return llvm::any_of(dimensions.of(input), [&](DimensionId dim) {
      return llvm::is_contained(dimensions.atomsOf(dim), atom);
    });
  });
}

/// Classes of parameters that are worth what is sent for them, and those that
/// the model names.
SmallVector<CutCost> Sharding::findCandidates() const {
  llvm::SetVector<DimensionId> atoms;
  for (ParameterOp parameter : parameters)
    atoms.insert_range(atomsOf(parameter));
  for (DimensionId atom : refused)
    atoms.remove(atom);
  SmallVector<CutCost> candidates;
  for (ParameterOp parameter : parameters)
    if (std::optional<CutCost> forced = findForced(parameter))
      if (atoms.remove(forced->atom))
        candidates.push_back(*forced);
  for (DimensionId atom : atoms) {
    if (dimensions.sizeOf(atom) < 2 || isOneEachAndGathered(atom) ||
        (isOfInput(atom) && dimensions.sizeOf(atom) % over.getSize() != 0))
      continue;
    CutCost cost = price(atom);
    if ((cost.savedFlops > 0 &&
         cost.savedFlops >= kLeastFlopsPerByte * cost.bytes) ||
        (cost.bytes > 0 && cost.savedState >= kLeastStatePerByte * cost.bytes))
      candidates.push_back(cost);
  }
  return candidates;
}

/// Whether what is taken has a value in common with `atom`, or an operation
/// that either could cut.
bool Sharding::excludes(DimensionId atom) const {
  for (Operation *op : usesOf(atom)) {
    auto found = takenAt.find(op);
    if (found == takenAt.end())
      continue;
    for (DimensionId other : found->second) {
      if (findCut(op, atom) && findCut(op, other))
        return true;
      for (Value value : llvm::concat<Value>(llvm::to_vector(op->getOperands()),
                                             llvm::to_vector(op->getResults())))
        if (containsAtom(dimensions, dimensions.of(value), atom) &&
            containsAtom(dimensions, dimensions.of(value), other))
          return true;
    }
  }
  return false;
}

void Sharding::take(const CutCost &cost) {
  takenAs[cost.atom] = taken.size();
  taken.push_back(cost);
  for (Operation *op : usesOf(cost.atom)) {
    takenAt[op].push_back(cost.atom);
    if (std::optional<OperationCut> cut = findCut(op, cost.atom))
      cutOperations[op] = *cut;
  }
}

/// The best first, as long as they fit beside one another; of equals the first
/// in program order.
void Sharding::takeBest(ArrayRef<CutCost> candidates) {
  taken.clear();
  takenAs.clear();
  takenAt.clear();
  cutOperations.clear();
  for (const CutCost &cost : candidates)
    if (!excludes(cost.atom))
      take(cost);
}

/// Chooses the classes to cut. A class that is small beside the largest one is
/// not worth an exchange. A class of one layer is not compared with one of all
/// layers that it excludes.
void Sharding::choose() {
  for (DimensionId atom : findRefused())
    refused.insert(atom);
  SmallVector<CutCost> candidates = findCandidates();
  llvm::stable_sort(candidates, [&](const CutCost &a, const CutCost &b) {
    return std::pair(a.isForced, worthOf(a)) >
           std::pair(b.isForced, worthOf(b));
  });
  for (size_t count = candidates.size() + 1; count != candidates.size();) {
    count = candidates.size();
    takeBest(candidates);
    double flops = 0, state = 0;
    for (const CutCost &cost : taken) {
      flops = std::max(flops, cost.savedFlops);
      state = std::max(state, cost.savedState);
    }
    llvm::erase_if(candidates, [&](const CutCost &cost) {
      return !cost.isForced && cost.savedFlops < kLeastShare * flops &&
             cost.savedState < kLeastShare * state;
    });
  }
  for (const CutCost &cost : candidates)
    this->candidates.insert(cost.atom);
  moveData();
}

/// Nobody gets another cut than the one that they have asked for.
LogicalResult Sharding::verifyForced() const {
  for (ParameterOp parameter : parameters) {
    int64_t wanted = parameter.getSharding().value_or(-1);
    if (wanted < 0)
      continue;
    CutAttr cut = cutOf(parameter);
    if (cut && cut.getDim() == wanted)
      continue;
    return parameter.emitError()
           << "dimension " << wanted << " of @" << parameter.getSymName()
           << ", of " << parameter.getTensorType().getDimSize(wanted)
           << " indices, cannot be cut over " << over
           << ": the ranks do not divide it, an operation needs all of it, or "
              "what else is cut excludes it; leave it out of zero.sharding";
  }
  return success();
}

LogicalResult Sharding::verify() const {
  if (isOfSequence())
    return verifyPositions();
  if (failed(verifyForced()))
    return failure();
  for (const CutCost &cost : taken) {
    if (cost.size % over.getSize() == 0)
      continue;
    for (ParameterOp parameter : ownersOf(cost.atom)) {
      ArrayRef<DimensionId> dims = dimensions.of(parameter.getSymNameAttr());
      std::optional<unsigned> dim = findDimension(dims, cost.atom);
      if (!dim)
        continue;
      return parameter.emitError()
             << "parameter @" << parameter.getSymName()
             << " is worth cutting over " << over << " in dimension " << *dim
             << ", which has " << cost.size << " units of "
             << parameter.getTensorType().getDimSize(*dim) / cost.size
             << " that stay together, and " << over.getSize()
             << " ranks do not divide " << cost.size
             << "; give the axis a divisor of it, or leave the parameter whole "
                "with -1 for it in zero.sharding";
    }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

CutAttr Sharding::makeCut(ArrayRef<DimensionId> dims, DimensionId atom) const {
  std::optional<unsigned> dim = findDimension(dims, atom);
  if (!dim)
    return {};
  Dimensions::Pieces pieces = dimensions.piecesOf(dims[*dim], atom);
  return CutAttr::get(over.getContext(), *dim, pieces.repeats, pieces.sizes,
                      over);
}

CutAttr Sharding::cutOf(Value value, Operation *op) const {
  return makeCut(dimensions.of(value), cutOperations.lookup(op).atom);
}

/// By the class that was taken first.
CutAttr Sharding::cutOf(ParameterOp parameter) const {
  ArrayRef<DimensionId> dims = dimensions.of(parameter.getSymNameAttr());
  CutAttr cut;
  size_t first = taken.size();
  for (DimensionId atom : atomsOf(parameter)) {
    auto found = takenAs.find(atom);
    if (found == takenAs.end() || found->second >= first)
      continue;
    if (CutAttr made = makeCut(dims, atom)) {
      cut = made;
      first = found->second;
    }
  }
  return cut;
}

Sharding::WholeReason Sharding::whyWhole(ParameterOp parameter) const {
  if (parameter.getSharding() == -1)
    return WholeReason::Said;
  auto canBeCut = [&](DimensionId atom) {
    for (LoadOp load : loads.lookup(parameter.getSymNameAttr()))
      for (Operation *user : load->getUsers())
        if (!findCut(user, atom))
          return false;
    return dimensions.sizeOf(atom) > 1 && !refused.contains(atom);
  };
  bool isNeeded = true, isCandidate = false;
  for (DimensionId atom : atomsOf(parameter))
    if (canBeCut(atom)) {
      isNeeded = false;
      isCandidate |= candidates.contains(atom);
    }
  return isNeeded      ? WholeReason::Needed
         : isCandidate ? WholeReason::Excluded
                       : WholeReason::Cheap;
}

int64_t Sharding::wholeSizeOf(Operation *op) const {
  const Dimensions::Factored &factored = dimensions.of(op);
  for (auto [factor, dim] :
       llvm::zip_equal(factored.factors.factors, factored.dimensions))
    if (factor.kind == zrt::FactorKind::Combined &&
        dimensions.contains(dim, cutOperations.lookup(op).atom))
      return dimensions.sizeOf(dim);
  llvm_unreachable("the operation is cut along a combined factor");
}

int64_t Sharding::partOf(Operation *op, size_t factor) const {
  DimensionId dim = dimensions.of(op).dimensions[factor];
  int64_t size = dimensions.sizeOf(dim);
  bool isPart = dimensions.contains(dim, cutOperations.lookup(op).atom);
  return isPart ? size / over.getSize() : size;
}
