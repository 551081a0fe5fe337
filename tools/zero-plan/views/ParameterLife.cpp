//===- ParameterLife.cpp - what a region does with a parameter ------------===//

#include "ParameterLife.h"

#include "zero/Analysis/Schedule.h"
#include "zero/Analysis/Views.h"
#include "zero/Dialect/Zero/PartitionTable.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::zero;

/// The flat elements that a collective of a partition spans.
static std::string rangeOf(Operation &op) {
  auto at = [&](StringRef name) {
    return formatCount(op.getAttrOfType<IntegerAttr>(name).getInt());
  };
  return ", flat [" + at("begin") + " to " + at("end") + ")";
}

int64_t ParameterLife::indexIn(ArrayAttr symbols) const {
  if (!symbols)
    return -1;
  auto *found = llvm::find(symbols, symbol);
  return found == symbols.end() ? -1 : found - symbols.begin();
}

void ParameterLife::add(const Twine &what, Operation &op) {
  std::string by = op.getName().getStringRef().str();
  if (auto launch = dyn_cast<LaunchOp>(op))
    by += (" @" + launch.getKernel()).str();
  std::string where = describePlace(op.getLoc());
  lines.add({"  " + what.str(), "op " + std::to_string(position), by,
             where.empty() ? "" : "at " + where});
  hasLines = true;
}

void ParameterLife::print(Operation &region) {
  Block &block = region.getRegion(0).front();
  findGradient(block);
  for (Operation &op : block) {
    visit(op);
    ++position;
  }
  if (!hasLines)
    return;
  llvm::outs() << describeRegion(&region) << ", "
               << block.getOperations().size() << " operations:\n";
  lines.print(llvm::outs());
}

/// What reductions and stores of the parameter's gradient take, and so what
/// makes it.
void ParameterLife::findGradient(Block &block) {
  for (Operation &op : block) {
    Value gradient;
    if (isReduction(&op)) {
      int64_t index = indexIn(op.getAttrOfType<ArrayAttr>("parameters"));
      if (index >= 0)
        gradient = op.getOperand(index);
    } else if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
      if (isAbout(accumulate.getPartitionAttr()) &&
          int64_t(accumulate.getBegin()) == member.getOffset() &&
          int64_t(accumulate.getEnd()) == member.getOffset() + member.getSize())
        gradient = accumulate.getValue();
    }
    Operation *maker = gradient ? getRoot(gradient).getDefiningOp() : nullptr;
    if (!maker || isa<WaitOp>(maker))
      continue;
    makers.insert(maker);
    values[gradient] = "gradient";
    values[getRoot(gradient)] = "gradient";
  }
}

void ParameterLife::visit(Operation &op) {
  if (auto load = dyn_cast<LoadOp>(op)) {
    if (load.getParameterAttr() != symbol)
      return;
    values[load.getResult()] = "parameter";
    if (load.getSource()) // a view of what was gathered
      return;
    return add("read unsharded", op);
  }
  if (isGather(&op)) {
    ArrayAttr names = cast<CollectiveOpInterface>(op).getParameterNames();
    if (indexIn(names) < 0)
      return;
    return add("gather starts, with " + Twine(names.size() - 1) + " others",
               op);
  }
  if (auto upload = dyn_cast<UploadOp>(op)) {
    if (indexIn(upload.getParameters()) >= 0)
      add("copy of the slice to the device starts", op);
    return;
  }
  if (auto read = dyn_cast<ReadParametersOp>(op)) {
    if (indexIn(read.getParameters()) >= 0)
      add("read of the slice from its file starts", op);
    return;
  }
  if (auto wait = dyn_cast<WaitOp>(op))
    return visitWait(wait);
  if (isReduction(&op))
    return visitReduction(op);
  if (auto accumulate = dyn_cast<AccumulateOp>(op))
    return visitAccumulate(accumulate);
  visitApply(op);
  visitUses(op);
}

int64_t ParameterLife::indexInGather(Operation *start) const {
  if (!isGather(start) && !isRefresh(start))
    return -1;
  auto collective = cast<CollectiveOpInterface>(start);
  if (ArrayAttr names = collective.getParameterNames())
    return indexIn(names);
  for (const PartitionRange &range :
       collective.getPartitionRanges(PartitionTable(start)))
    if (isAbout(range.partition) && overlaps(range.begin, range.end))
      return 0;
  return -1;
}

bool ParameterLife::isReduced(Operation *start) const {
  if (!isReduction(start) ||
      !isAbout(start->getAttrOfType<FlatSymbolRefAttr>("partition")))
    return false;
  if (auto parameters = start->getAttrOfType<ArrayAttr>("parameters"))
    return indexIn(parameters) >= 0;
  return overlaps(start->getAttrOfType<IntegerAttr>("begin").getInt(),
                  start->getAttrOfType<IntegerAttr>("end").getInt());
}

/// The start may be in another region.
void ParameterLife::visitWait(WaitOp wait) {
  Operation *start = handles.findStart(wait.getPending());
  if (!start)
    return;
  if (int64_t index = indexInGather(start); index >= 0) {
    if (index < static_cast<int64_t>(wait.getNumResults()))
      values[wait.getResult(index)] = "parameter";
    return add(wait.getNumResults()
                   ? "gather completes: the parameter is whole"
                   : "gather completes: the copy is up to date",
               *wait);
  }
  if (isReduced(start))
    add("reduction of the gradient completes", *wait);
}

void ParameterLife::visitReduction(Operation &op) {
  if (!isReduced(&op))
    return;
  if (auto parameters = op.getAttrOfType<ArrayAttr>("parameters"))
    add("gradient is reduced, in a bucket of " + Twine(parameters.size()), op);
  else
    add("stored gradient is reduced" + rangeOf(op), op);
}

void ParameterLife::visitAccumulate(AccumulateOp accumulate) {
  if (!isAbout(accumulate.getPartitionAttr()) ||
      !overlaps(accumulate.getBegin(), accumulate.getEnd()) ||
      (accumulate.getParameters() && indexIn(*accumulate.getParameters()) < 0))
    return;
  add(accumulate.getForm() == AccumulateForm::Whole
          ? "gradient is stored"
          : "owned slice of the gradient is stored",
      *accumulate);
}

void ParameterLife::visitApply(Operation &op) {
  llvm::TypeSwitch<Operation *>(&op)
      .Case([&](GradStatsOp stats) {
        for (auto [index, name] : llvm::enumerate(
                 stats.getPartitions().getAsRange<FlatSymbolRefAttr>())) {
          auto [begin, end] = stats.getRange(index, partition);
          if (isAbout(name) && overlaps(begin, end))
            add("gradient statistics are computed", op);
        }
      })
      .Case([&](UpdateOp update) {
        auto [begin, end] = update.getRange(partition);
        if (isAbout(update.getPartitionAttr()) && overlaps(begin, end))
          add("owned slice is updated", op);
      })
      .Case([&](UpdateOnHostOp update) {
        if (isAbout(update.getPartitionAttr()) &&
            overlaps(update.getBegin(), update.getEnd()))
          add("owned slice is updated on the host", op);
      })
      .Case([&](WriteStatesOp write) {
        if (isAbout(write.getPartitionAttr()) &&
            overlaps(write.getBegin(), write.getEnd()))
          add(partition.hasParametersInFile()
                  ? "owned slice and states are written to their file"
                  : "states are written to their file",
              op);
      })
      .Case([&](CollectiveOpInterface start) {
        if (!isRefresh(start) || indexInGather(start) < 0)
          return;
        if (start.getParameterNames())
          add("gather of the resident copy starts", op);
        else
          add("refresh of the whole copy starts" + rangeOf(op), op);
      });
}

void ParameterLife::visitUses(Operation &op) {
  if (makers.contains(&op))
    add("gradient is computed", op);
  for (OpOperand &operand : op.getOpOperands()) {
    auto found = values.find(operand.get());
    if (found == values.end())
      continue;
    StringRef kind = found->second;
    if (getView(&op))
      values[op.getResult(0)] = kind;
    else if (isa<FreeOp>(op))
      add(kind + " is freed", op);
    else
      add(kind + " is used, operand " + Twine(operand.getOperandNumber()), op);
  }
}
