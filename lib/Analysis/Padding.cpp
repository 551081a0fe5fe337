//===- Padding.cpp - what is padded together with a parameter -------------===//

#include "zero/Analysis/Padding.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Follows padding from value to value.
class Closing {
public:
  explicit Closing(StepOp step) : step(step) {}

  PaddingClosure close(ParameterOp parameter) {
    add(parameter);
    for (unsigned next = 0; next < closure.dims.size(); ++next) {
      auto [value, dim] = *(closure.dims.begin() + next);
      for (OpOperand &use : value.getUses())
        follow(use, dim);
    }
    return std::move(closure);
  }

private:
  void add(ParameterOp parameter);
  void add(PaddedDim padded, Operation *reader);
  bool addSource(PaddedDim padded);
  void follow(OpOperand &use, int64_t dim);
  void stop(Operation *at, const Twine &why);

  StepOp step;
  PaddingClosure closure;
};

} // namespace

void Closing::stop(Operation *at, const Twine &why) {
  if (closure.at)
    return;
  closure.at = at;
  closure.obstacle = why.str();
}

/// Why padding of the parameter would not stay 0; empty if it would.
static StringRef findChange(ParameterOp parameter) {
  if (parameter.getAverage())
    return "a moving average has no padding";
  if (parameter.getFrozen())
    return "";
  auto module = parameter->getParentOfType<ModuleOp>();
  for (OptimizerOp optimizer : module.getOps<OptimizerOp>())
    if (optimizer.getGroup() == parameter.getGroup())
      return cast<OptimizerAttrInterface>(optimizer.getOptimizer()).keepsZeros()
                 ? ""
                 : "its optimizer has an eps of 0, so that elements without a "
                   "gradient do not stay 0";
  return "its optimizer is not known";
}

/// Adds a parameter, with its loads.
void Closing::add(ParameterOp parameter) {
  if (!closure.parameters.insert(parameter))
    return;
  if (parameter.getRows())
    stop(parameter, "it has padding already");
  if (StringRef change = findChange(parameter); !change.empty())
    stop(parameter, change);
  step.walk([&](LoadOp load) {
    if (load.getParameterAttr().getAttr() == parameter.getSymNameAttr())
      closure.dims.insert({load.getResult(), 0});
  });
}

void Closing::add(PaddedDim padded, Operation *reader) {
  auto known = closure.dims.find(padded.value);
  if (known != closure.dims.end()) {
    if (known->second != padded.dim)
      stop(reader, "it reads one value along two dimensions");
    return;
  }
  Operation *def = padded.value.getDefiningOp();
  if (def == reader) {
    closure.dims.insert({padded.value, padded.dim});
    return;
  }
  if (!addSource(padded))
    stop(reader, "an operand of it is no parameter whose first dimension could "
                 "be padded");
}

/// The parameter that `padded` is, or is computed of by operations with one
/// operand; false where there is none.
bool Closing::addSource(PaddedDim padded) {
  Operation *def = padded.value.getDefiningOp();
  if (auto load = dyn_cast_or_null<LoadOp>(def)) {
    if (padded.dim == 0)
      add(SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
          step, load.getParameterAttr()));
    return padded.dim == 0;
  }
  auto paddable = dyn_cast_or_null<PaddableOpInterface>(def);
  if (!paddable || def->getNumOperands() != 1)
    return false;
  auto operand = cast<RankedTensorType>(def->getOperand(0).getType());
  for (int64_t dim = 0; dim < operand.getRank(); ++dim)
    if (auto results = paddable.getPadded(0, dim))
      for (PaddedDim result : *results)
        if (result.value == padded.value && result.dim == padded.dim)
          return addSource({def->getOperand(0), dim});
  return false;
}

/// Whether something behind the reader of `use`, in rows as long, is told how
/// many of them count.
static bool isCountedBehind(OpOperand &use) {
  auto widthOf = [](Value value) -> std::optional<int64_t> {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || type.getRank() == 0)
      return std::nullopt;
    return type.getShape().back();
  };
  std::optional<int64_t> width = widthOf(use.get());
  llvm::SetVector<Value> values;
  auto addResults = [&](Operation *op) {
    for (Value result : op->getResults())
      if (width && widthOf(result) == width)
        values.insert(result);
  };
  addResults(use.getOwner());
  for (unsigned next = 0; next < values.size(); ++next)
    for (OpOperand &reader : values[next].getUses()) {
      auto paddable = dyn_cast<PaddableOpInterface>(reader.getOwner());
      auto type = cast<RankedTensorType>(values[next].getType());
      auto padded = paddable ? paddable.getPadded(reader.getOperandNumber(),
                                                  type.getRank() - 1)
                             : std::nullopt;
      if (padded && padded->empty())
        return true;
      addResults(reader.getOwner());
    }
  return false;
}

void Closing::follow(OpOperand &use, int64_t dim) {
  Operation *reader = use.getOwner();
  if (isa<YieldOp>(reader) && use.getOperandNumber() > 0) {
    closure.outputs.push_back(&use);
    return;
  }
  auto paddable = dyn_cast<PaddableOpInterface>(reader);
  std::optional<SmallVector<PaddedDim>> padded;
  if (paddable)
    padded = paddable.getPadded(use.getOperandNumber(), dim);
  if (!padded) {
    closure.isCounted |= isCountedBehind(use);
    return stop(reader, reader->getName().getStringRef() +
                            " cannot be computed of padding");
  }
  closure.hasGain |= paddable.gainsFromPadding();
  closure.uses.push_back(&use);
  closure.isCounted |= padded->empty();
  for (PaddedDim each : *padded)
    add(each, reader);
}

PaddingClosure zero::findPadding(StepOp step, ParameterOp parameter) {
  return Closing(step).close(parameter);
}
