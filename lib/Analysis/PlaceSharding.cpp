//===- PlaceSharding.cpp - what an axis cuts of experts' places -----------===//

#include "zero/Analysis/PlaceSharding.h"

#include "zero/Analysis/ExpertSharding.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::zero;
using zrt::FactorKind;

PlaceSharding::PlaceSharding(StepOp model, AxesAttr over)
    : model(model), over(over) {
  Block &body = model.getBody().front();
  ofSamples.insert(body.args_begin(), body.args_end());
  for (Operation &op : body) {
    if (llvm::any_of(op.getOperands(), [&](Value operand) {
          return ofSamples.contains(operand);
        }))
      ofSamples.insert(op.result_begin(), op.result_end());
    findFills(&op);
    visit(&op);
  }
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

static bool has(const zrt::FactoredDim &dim, size_t factor) {
  return llvm::any_of(dim.parts, [&](const zrt::DimPart &part) {
    return part.segments.empty()
               ? part.factor == factor
               : llvm::any_of(part.segments, [&](const auto &segment) {
                   return has(segment, factor);
                 });
  });
}

static int64_t count(const zrt::FactoredTensor &tensor, size_t factor) {
  return llvm::count_if(tensor.dimensions,
                        [&](const auto &dim) { return has(dim, factor); });
}

/// The dimension that is the factor and nothing else, the only one that has it.
static std::optional<int64_t> findDim(const zrt::FactoredTensor &tensor,
                                      size_t factor) {
  if (count(tensor, factor) != 1)
    return std::nullopt;
  for (auto [index, dim] : llvm::enumerate(tensor.dimensions))
    if (factorOf(dim) == factor)
      return static_cast<int64_t>(index);
  return std::nullopt;
}

std::optional<PlaceSharding::PlaceFactors>
PlaceSharding::findFactors(const zrt::Factors &factors,
                           const zrt::FactoredTensor &tensor,
                           const Places &places) {
  const zrt::FactoredDim &outer = tensor.dimensions[places.expertDim];
  std::optional<size_t> experts = factorOf(outer);
  std::optional<size_t> inner = factorOf(tensor.dimensions[places.placeDim]);
  if (experts && inner)
    return PlaceFactors{*experts, inner};
  bool isProduct = places.isFlat() && outer.parts.size() == 2 &&
                   outer.parts[0].segments.empty() &&
                   outer.parts[1].segments.empty();
  if (!isProduct)
    return std::nullopt;
  PlaceFactors found{outer.parts[0].factor, outer.parts[1].factor};
  if (factors.factors[*found.experts].size != places.experts ||
      factors.factors[*found.places].size != places.capacity)
    return std::nullopt;
  return found;
}

std::optional<PlaceSharding::Places>
PlaceSharding::findPlaces(const zrt::FactoredTensor &tensor,
                          const PlaceFactors &factors, const Places &places) {
  Places found = places;
  if (auto outer = findDim(tensor, *factors.experts))
    if (auto inner = findDim(tensor, *factors.places)) {
      found.expertDim = *outer;
      found.placeDim = *inner;
      return found;
    }
  for (auto [index, dim] : llvm::enumerate(tensor.dimensions)) {
    bool isProduct = dim.parts.size() == 2 && dim.parts[0].segments.empty() &&
                     dim.parts[1].segments.empty() &&
                     dim.parts[0].factor == factors.experts &&
                     dim.parts[1].factor == factors.places;
    if (!isProduct || count(tensor, *factors.experts) != 1 ||
        count(tensor, *factors.places) != 1)
      continue;
    found.expertDim = found.placeDim = static_cast<int64_t>(index);
    return found;
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// What is computed where
//===----------------------------------------------------------------------===//

/// Whether ranks that have parts of results must know which.
static bool needsRange(const zrt::Factors &factors) {
  for (auto [index, factor] : llvm::enumerate(factors.factors))
    for (const zrt::FactoredTensor &tensor : factors.results)
      if (factor.kind == FactorKind::Combined && count(tensor, index) != 0)
        return true;
  return false;
}

/// Notes `op` if it gives rows places in an order of their own, beside one
/// other dimension that no operand has: the experts.
void PlaceSharding::findFills(Operation *op) {
  const zrt::Factors factors = getFactors(op);
  if (needsRange(factors))
    return;
  auto isMade = [&](size_t factor) {
    return llvm::none_of(factors.operands, [&](const auto &tensor) {
      return count(tensor, factor) != 0;
    });
  };
  for (auto [result, tensor] :
       llvm::zip_equal(op->getResults(), factors.results)) {
    SmallVector<size_t> own, other;
    for (auto [index, factor] : llvm::enumerate(factors.factors))
      if (findDim(tensor, index) && isMade(index))
        (factor.kind == FactorKind::OwnOrder ? own : other).push_back(index);
    if (own.size() != 1 || other.size() != 1)
      continue;
    fills.push_back(op);
    placed[result] = {{*findDim(tensor, other[0]), *findDim(tensor, own[0]),
                       factors.factors[other[0]].size,
                       factors.factors[own[0]].size},
                      op};
  }
}

/// Whether an operand goes with places on the ranks of the experts: such ones,
/// matrices, and what is the same for all places and of no samples.
bool PlaceSharding::fitsOperand(Value operand,
                                const zrt::FactoredTensor &tensor,
                                const PlaceFactors &cut,
                                Matrices &found) const {
  SplatElementsAttr splat;
  if (placed.contains(operand) || matchPattern(operand, m_Constant(&splat)))
    return true;
  if (ofSamples.contains(operand))
    return false;
  Matrix wanted;
  for (auto [factor, dim] : {std::pair(cut.experts, &wanted.expertDim),
                             std::pair(cut.places, &wanted.placeDim)}) {
    if (!factor || count(tensor, *factor) == 0)
      continue;
    *dim = findDim(tensor, *factor);
    if (!*dim)
      return false;
  }
  return (!wanted.expertDim && !wanted.placeDim) ||
         findMatrices(operand, wanted, found);
}

bool PlaceSharding::isCut(Value value, const Matrices &found) const {
  auto here = found.find(value);
  auto known = matrices.find(value);
  return (here != found.end() && here->second.isCut) ||
         (known != matrices.end() && known->second.isCut);
}

/// Whether ranks can have parts of `value`, made of parameters, along the
/// dimensions that are `wanted`; adds all that they then have parts of.
bool PlaceSharding::findMatrices(Value value, Matrix wanted,
                                 Matrices &found) const {
  if (auto known = matrices.find(value); known != matrices.end())
    return known->second.expertDim == wanted.expertDim &&
           known->second.placeDim == wanted.placeDim;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<LoadOp>(op)) {
    wanted.isCut = true;
    found[value] = wanted;
    return !wanted.placeDim;
  }
  if (!op || op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      !isMemoryEffectFree(op))
    return false;
  const zrt::Factors factors = getFactors(op);
  const zrt::FactoredTensor &result = factors.results.front();
  auto cut = [&](std::optional<int64_t> dim) {
    return dim ? factorOf(result.dimensions[*dim]) : std::nullopt;
  };
  const PlaceFactors read{cut(wanted.expertDim), cut(wanted.placeDim)};
  for (auto [dim, factor] : {std::pair(wanted.expertDim, read.experts),
                             std::pair(wanted.placeDim, read.places)})
    if (dim && (!factor || !findDim(result, *factor) ||
                factors.factors[*factor].kind != FactorKind::Parallel))
      return false;
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), factors.operands)) {
    if (!fitsOperand(operand, tensor, read, found))
      return false;
    wanted.isCut |= isCut(operand, found);
  }
  found[value] = wanted;
  return true;
}

/// Whether each place of a result follows from the same one of operands.
bool PlaceSharding::computesByPlace(Operation *op, const zrt::Factors &factors,
                                    const PlaceFactors &cut,
                                    Matrices &found) const {
  if (op->getNumRegions() != 0 || !isMemoryEffectFree(op) ||
      needsRange(factors) ||
      factors.factors[*cut.experts].kind != FactorKind::Parallel ||
      factors.factors[*cut.places].kind != FactorKind::Parallel)
    return false;
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), factors.operands))
    if (!fitsOperand(operand, tensor, cut, found))
      return false;
  return true;
}

void PlaceSharding::addMatrices(const Matrices &found) {
  for (const auto &[value, matrix] : found) {
    matrices[value] = matrix;
    Operation *op = value.getDefiningOp();
    if (auto load = dyn_cast<LoadOp>(op)) {
      parameters[load.getParameterAttr().getAttr()] = *matrix.expertDim;
      continue;
    }
    zrt::Factors factors = getFactors(op);
    const zrt::FactoredTensor &result = factors.results.front();
    PlaceFactors cut;
    if (matrix.expertDim)
      cut.experts = factorOf(result.dimensions[*matrix.expertDim]);
    if (matrix.placeDim)
      cut.places = factorOf(result.dimensions[*matrix.placeDim]);
    moved[op] = {cut, std::move(factors)};
  }
}

/// Follows an operation that reads places: its results have places, and it
/// moves to the ranks of the experts if it can.
void PlaceSharding::visit(Operation *op) {
  const zrt::Factors factors = getFactors(op);
  std::optional<PlaceFactors> cut;
  std::pair<Places, Operation *> source;
  bool agrees = true;
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), factors.operands)) {
    auto known = placed.find(operand);
    if (known == placed.end())
      continue;
    auto read = findFactors(factors, tensor, known->second.first);
    agrees &= read && (!cut || *cut == *read);
    cut = read;
    source = known->second;
  }
  if (!cut || !agrees)
    return;
  SmallVector<Places> results;
  for (const zrt::FactoredTensor &tensor : factors.results) {
    std::optional<Places> places = findPlaces(tensor, *cut, source.first);
    if (!places)
      return;
    results.push_back(*places);
  }
  for (auto [result, places] : llvm::zip_equal(op->getResults(), results))
    placed[result] = {places, source.second};
  Matrices found;
  if (!computesByPlace(op, factors, *cut, found))
    return;
  moved[op] = {*cut, factors};
  addMatrices(found);
  if (llvm::any_of(op->getOperands(),
                   [&](Value operand) { return matrices.contains(operand); }))
    used.insert(source.second);
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

std::optional<PlaceSharding::Places>
PlaceSharding::placesOf(Value value) const {
  auto known = placed.find(value);
  return known == placed.end() ? std::nullopt
                               : std::optional(known->second.first);
}

int64_t PlaceSharding::sizeOf(Operation *op, size_t factor) const {
  const auto &[cut, factors] = moved.find(op)->second;
  int64_t size = factors.factors[factor].size;
  if (factor == cut.experts)
    size /= over.getSize();
  return cut.places == factor ? size * over.getSize() : size;
}

RankedTensorType
PlaceSharding::typeOf(Operation *op, Value value,
                      const zrt::FactoredTensor &tensor) const {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape(type.getShape());
  for (auto [size, dim] : llvm::zip_equal(shape, tensor.dimensions))
    if (llvm::all_of(dim.parts,
                     [](const auto &part) { return part.segments.empty(); })) {
      size = 1;
      for (const zrt::DimPart &part : dim.parts)
        size *= sizeOf(op, part.factor);
    }
  return type.clone(shape);
}

RankedTensorType PlaceSharding::typeOfOperand(Operation *op,
                                              unsigned operand) const {
  return typeOf(op, op->getOperand(operand), factorsOf(op).operands[operand]);
}

RankedTensorType PlaceSharding::typeOf(OpResult result) const {
  Operation *op = result.getOwner();
  return typeOf(op, result, factorsOf(op).results[result.getResultNumber()]);
}

RankedTensorType PlaceSharding::typeOf(LoadOp load) const {
  auto type = cast<RankedTensorType>(load.getType());
  auto known = matrices.find(load.getResult());
  if (known == matrices.end())
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape[*known->second.expertDim] /= over.getSize();
  return type.clone(shape);
}

CutAttr PlaceSharding::cutOf(ParameterOp parameter) const {
  auto known = parameters.find(parameter.getSymNameAttr());
  if (known == parameters.end())
    return {};
  return CutAttr::get(over.getContext(), known->second, /*repeats=*/1,
                      {parameter.getTensorType().getDimSize(known->second)},
                      over);
}

//===----------------------------------------------------------------------===//
// Whether it can be
//===----------------------------------------------------------------------===//

/// Whoever reads matrices of some experts is where these are.
LogicalResult PlaceSharding::verifyMatrices(Operation *op) const {
  for (Value operand : op->getOperands())
    if (matrices.contains(operand) && !isMoved(op))
      return reportNeedsAll(op, over);
  auto load = dyn_cast<LoadOp>(op);
  if (!load)
    return success();
  auto known = parameters.find(load.getParameterAttr().getAttr());
  auto here = matrices.find(load.getResult());
  if (known == parameters.end() ||
      (here != matrices.end() && here->second.expertDim == known->second))
    return success();
  return reportNeedsAll(op, over);
}

LogicalResult PlaceSharding::verify() const {
  for (Operation *op : fills) {
    for (Value result : op->getResults())
      if (std::optional<Places> places = placesOf(result))
        if (failed(verifyExperts(op, places->experts, over)))
          return failure();
    if (!used.contains(op))
      return op->emitError()
             << "'" << op->getName()
             << "' gives places to rows, which nothing multiplies place by "
                "place with matrices that are stacked by expert, so that the "
                "ranks of "
             << over
             << " have nothing to share; stack the matrices of all experts in "
                "one parameter, [experts, ...], or leave the axis out";
  }
  StepOp step = model;
  for (Operation &op : step.getBody().front())
    if (failed(verifyMatrices(&op)))
      return failure();
  for (ParameterOp parameter :
       step->getParentOfType<ModuleOp>().getOps<ParameterOp>())
    if (cutOf(parameter) && failed(verifyHasCut(parameter, over)))
      return failure();
  return success();
}
