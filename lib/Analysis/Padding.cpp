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

/// With its loads.
void Closing::add(ParameterOp parameter) {
  if (!closure.parameters.insert(parameter))
    return;
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
    closure.hasPaddedResults = true;
    closure.dims.insert({padded.value, padded.dim});
    return;
  }
  auto load = dyn_cast_or_null<LoadOp>(def);
  if (!load || padded.dim != 0)
    return stop(reader, "an operand of it is no parameter whose first "
                        "dimension could be padded");
  add(SymbolTable::lookupNearestSymbolFrom<ParameterOp>(
      step, load.getParameterAttr()));
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
  if (!padded)
    return stop(reader, reader->getName().getStringRef() +
                            " cannot be computed of padding");
  closure.uses.push_back(&use);
  closure.isCounted |= padded->empty();
  for (PaddedDim each : *padded)
    add(each, reader);
}

PaddingClosure zero::findPadding(StepOp step, ParameterOp parameter) {
  return Closing(step).close(parameter);
}
