//===- Mutants.cpp - every small change of a schedule ---------------------===//

#include "Mutants.h"

#include "zero/Analysis/Schedule.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::zero;

bool mlir::zero::isScheduleOperation(Operation *op) {
  return isa<AsyncOpInterface, WaitOp, CarryOp, CarriedOp, AccumulateOp, FreeOp,
             GradStatsOp, JudgeOp, UpdateOp, UpdateScaleOp, SecondarySliceOp>(
             op) ||
         isFact(op);
}

bool mlir::zero::isFact(Operation *op) {
  auto load = dyn_cast<LoadOp>(op);
  return isa<GradientOp>(op) || (load && load.getSource());
}

std::vector<Operation *> mlir::zero::listOperations(ModuleOp module) {
  std::vector<Operation *> operations;
  for (Operation &op : module.getOps())
    if (isa<MeshOp, PartitionOp>(op))
      operations.push_back(&op);
  (*module.getOps<StepOp>().begin())->walk([&](Operation *op) {
    operations.push_back(op);
  });
  return operations;
}

namespace {

class Generator {
public:
  explicit Generator(ModuleOp module) : module(module) {}
  std::vector<Mutant> run();

private:
  void add(StringRef kind, std::function<void(Operation *)> apply,
           const Twine &detail = "");
  void deleteAndDouble(Operation *op);
  void move(Operation *op);
  void changeOperands(Operation *op);
  void changeBlock(GradientOp gradient);
  void changeRange(Operation *op);
  void changeRanges(Operation *op);
  void changeHandles(Operation *op);
  void changeSymbols(Operation *op);
  void changeList(StringRef name, ArrayAttr list, ArrayRef<Attribute> others);
  void changeFlags(Operation *op);
  void changeAxes(Operation *op);
  void changeQuantization(Operation *op);
  void changeFeedback(Operation *op);
  void dropFact(Operation *op);
  void swapFacts(Operation *op);

  ModuleOp module;
  std::vector<Mutant> mutants;
  unsigned current = 0;
  std::string name;
};

} // namespace

void Generator::add(StringRef kind, std::function<void(Operation *)> apply,
                    const Twine &detail) {
  mutants.push_back({kind.str(), (kind + " of " + name + " " + detail).str(),
                     current, std::move(apply)});
}

/// The result's users go to another value of its type where there is one before
/// it; frees are dropped.
static void eraseWithUses(Operation *op) {
  for (Value result : op->getResults()) {
    Value other;
    for (Operation &before : *op->getBlock()) {
      if (&before == op)
        break;
      for (Value value : before.getResults())
        if (value.getType() == result.getType())
          other = value;
    }
    for (Operation *user : llvm::make_early_inc_range(result.getUsers()))
      if (isa<FreeOp>(user) && user->getNumOperands() == 1)
        user->erase();
    if (other)
      result.replaceAllUsesWith(other);
  }
  if (op->use_empty())
    op->erase();
}

void Generator::deleteAndDouble(Operation *op) {
  add("delete", eraseWithUses);
  add("double", [](Operation *op) {
    op->getBlock()->getOperations().insertAfter(Block::iterator(op),
                                                op->clone());
  });
}

void Generator::move(Operation *op) {
  // By how many operations, up or down.
  int64_t above = 0, below = 0;
  for (Operation *other = op->getPrevNode(); other;
       other = other->getPrevNode())
    ++above;
  for (Operation *other = op->getNextNode();
       other && !other->hasTrait<OpTrait::IsTerminator>();
       other = other->getNextNode())
    ++below;
  for (int64_t by = -above; by <= below; ++by)
    if (by != 0)
      add(
          by == -1 || by == 1 ? "swap" : "move",
          [by](Operation *op) {
            Operation *other = op;
            for (int64_t i = 0; i < std::abs(by); ++i)
              other = by < 0 ? other->getPrevNode() : other->getNextNode();
            by < 0 ? op->moveBefore(other) : op->moveAfter(other);
          },
          "by " + Twine(by));
}

void Generator::changeOperands(Operation *op) {
  // Which value a gradient is, is not the schedule's to say.
  if (isa<GradientOp>(op))
    return;
  for (unsigned index = 0; index < op->getNumOperands(); ++index) {
    Type type = op->getOperand(index).getType();
    int64_t position = -1;
    for (Operation &before : *op->getBlock()) {
      ++position;
      if (&before == op)
        break;
      for (unsigned result = 0; result < before.getNumResults(); ++result)
        if (before.getResult(result).getType() == type &&
            before.getResult(result) != op->getOperand(index))
          add(
              "operand",
              [=](Operation *op) {
                op->setOperand(index,
                               std::next(op->getBlock()->begin(), position)
                                   ->getResult(result));
              },
              Twine(index) + " to " + before.getName().getStringRef());
    }
  }
  if (op->getNumOperands() > 1 && isReduction(op))
    for (unsigned i = 1; i < op->getNumOperands(); ++i)
      add(
          "operand",
          [i](Operation *op) {
            Value first = op->getOperand(i - 1);
            op->setOperand(i - 1, op->getOperand(i));
            op->setOperand(i, first);
          },
          "swapped");
}

/// Drops the range of a block, and gives a whole gradient one.
void Generator::changeBlock(GradientOp gradient) {
  if (gradient.isBlock())
    add("range", [](Operation *op) {
      op->removeAttr("begin");
      op->removeAttr("end");
    });
  auto [begin, end] = gradient.getElements();
  SmallVector<std::pair<int64_t, int64_t>> others = {
      {begin, end}, {begin - 1, end - 1}, {begin + 1, end + 1}};
  if (end > begin)
    others.push_back({end, 2 * end - begin});
  for (auto [first, last] : others)
    if (!gradient.isBlock() || first != begin)
      add(
          "range",
          [first = first, last = last](Operation *op) {
            Builder builder(op->getContext());
            op->setAttr("begin", builder.getI64IntegerAttr(first));
            op->setAttr("end", builder.getI64IntegerAttr(last));
          },
          Twine(first) + " to " + Twine(last));
}

void Generator::changeRange(Operation *op) {
  if (auto gradient = dyn_cast<GradientOp>(op))
    return changeBlock(gradient);
  auto symbol = op->getAttrOfType<FlatSymbolRefAttr>("partition");
  for (StringRef bound : {"begin", "end"}) {
    auto value = op->getAttrOfType<IntegerAttr>(bound);
    if (!value || !symbol)
      continue;
    SmallVector<int64_t> others = {value.getInt() - 1, value.getInt() + 1};
    for (PartitionOp partition : module.getOps<PartitionOp>())
      if (partition.getSymName() == symbol.getValue())
        llvm::append_range(others, partition.getSegments());
    for (int64_t other : others)
      if (other >= 0 && other != value.getInt())
        add(
            "range",
            [bound, other](Operation *op) {
              op->setAttr(bound,
                          Builder(op->getContext()).getI64IntegerAttr(other));
            },
            bound + " " + Twine(other));
  }
}

/// Each bound of each range of a check, to every other segment boundary.
void Generator::changeRanges(Operation *op) {
  auto ranges = op->getAttrOfType<DenseI64ArrayAttr>("ranges");
  if (!ranges)
    return;
  auto partitions = op->getAttrOfType<ArrayAttr>("partitions");
  for (size_t i = 0; i < static_cast<size_t>(ranges.size()); ++i)
    for (PartitionOp partition : module.getOps<PartitionOp>()) {
      if (partitions[i / 2] !=
          FlatSymbolRefAttr::get(partition.getSymNameAttr()))
        continue;
      for (int64_t other : partition.getSegments())
        if (other != ranges[i])
          add(
              "range",
              [i, other](Operation *op) {
                SmallVector<int64_t> bounds(
                    op->getAttrOfType<DenseI64ArrayAttr>("ranges")
                        .asArrayRef());
                bounds[i] = other;
                op->setAttr("ranges",
                            DenseI64ArrayAttr::get(op->getContext(), bounds));
              },
              Twine(i) + " to " + Twine(other));
    }
}

/// A start on every other stream; a handle under every other name.
void Generator::changeHandles(Operation *op) {
  if (auto start = dyn_cast<AsyncOpInterface>(op); start && start.getPending())
    for (auto stream : {StreamKind::Compute, StreamKind::Gather,
                        StreamKind::Reduce, StreamKind::Copy, StreamKind::Host})
      if (stream != getStream(op))
        add(
            "stream",
            [stream](Operation *op) {
              op->setAttr("stream",
                          StreamKindAttr::get(op->getContext(), stream));
            },
            stringifyStreamKind(stream));
  auto handle = op->getAttrOfType<StringAttr>("handle");
  if (!handle)
    return;
  llvm::SetVector<Attribute> others;
  others.insert(StringAttr::get(op->getContext(), "other"));
  for (Operation *other : listOperations(module))
    if (auto name = other->getAttrOfType<StringAttr>("handle");
        name && name != handle)
      others.insert(name);
  for (Attribute other : others)
    add(
        "handle", [other](Operation *op) { op->setAttr("handle", other); },
        cast<StringAttr>(other).getValue());
}

void Generator::changeList(StringRef attribute, ArrayAttr list,
                           ArrayRef<Attribute> others) {
  auto set = [&](SmallVector<Attribute> entries, const Twine &detail) {
    add(
        "parameters",
        [attribute = attribute.str(), entries](Operation *op) {
          op->setAttr(attribute, ArrayAttr::get(op->getContext(), entries));
        },
        detail);
  };
  for (size_t i = 0; i < list.size(); ++i) {
    SmallVector<Attribute> entries(list.begin(), list.end());
    for (Attribute other : others)
      if (other != list[i]) {
        entries[i] = other;
        set(entries, "other name");
      }
    entries.assign(list.begin(), list.end());
    entries.erase(entries.begin() + i);
    set(entries, "one less");
    entries.assign(list.begin(), list.end());
    entries.push_back(list[i]);
    set(entries, "one twice");
    if (i > 0) {
      entries.assign(list.begin(), list.end());
      std::swap(entries[i - 1], entries[i]);
      set(entries, "two swapped");
    }
  }
}

void Generator::changeSymbols(Operation *op) {
  SmallVector<Attribute> partitions, parameters;
  for (PartitionOp partition : module.getOps<PartitionOp>())
    partitions.push_back(FlatSymbolRefAttr::get(partition.getSymNameAttr()));
  for (ParameterOp parameter : module.getOps<ParameterOp>())
    parameters.push_back(FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
  if (auto symbol = op->getAttrOfType<FlatSymbolRefAttr>("partition"))
    for (Attribute other : partitions)
      if (other != symbol)
        add("partition",
            [other](Operation *op) { op->setAttr("partition", other); });
  if (auto symbol = op->getAttrOfType<FlatSymbolRefAttr>("parameter"))
    for (Attribute other : parameters)
      if (other != symbol)
        add("parameter",
            [other](Operation *op) { op->setAttr("parameter", other); });
  if (auto list = op->getAttrOfType<ArrayAttr>("parameters"))
    changeList("parameters", list, parameters);
  if (auto list = op->getAttrOfType<ArrayAttr>("partitions"))
    changeList("partitions", list, partitions);
}

/// Without the fact: what it says goes on as a mere value.
void Generator::dropFact(Operation *op) {
  if (isFact(op))
    add("drop", [](Operation *op) {
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      op->erase();
    });
}

/// What two facts of one type say, exchanged, and the values that they give.
void Generator::swapFacts(Operation *op) {
  if (!isFact(op))
    return;
  int64_t distance = 0;
  for (Operation *other = op->getNextNode(); other;
       other = other->getNextNode()) {
    ++distance;
    if (other->getName() != op->getName() || !isFact(other) ||
        other->getResult(0).getType() != op->getResult(0).getType())
      continue;
    auto find = [distance](Operation *op) {
      return &*std::next(op->getIterator(), distance);
    };
    add("swap facts", [find](Operation *op) {
      Operation *other = find(op);
      DictionaryAttr attributes = op->getAttrDictionary();
      op->setAttrs(other->getAttrDictionary());
      other->setAttrs(attributes);
    });
    // An earlier user of the other's result would not be dominated.
    add("swap results", [find](Operation *op) {
      Operation *other = find(op);
      SmallVector<OpOperand *> uses = llvm::to_vector(
          llvm::map_range(op->getUses(), [](OpOperand &use) { return &use; }));
      other->getResult(0).replaceAllUsesWith(op->getResult(0));
      for (OpOperand *use : uses)
        use->set(other->getResult(0));
    });
  }
}

void Generator::changeFlags(Operation *op) {
  for (StringRef flag : {"prescaled", "loss_only", "weighted"})
    if (op->getRegisteredInfo() &&
        llvm::is_contained(op->getRegisteredInfo()->getAttributeNames(),
                           StringAttr::get(op->getContext(), flag)))
      add(
          "flag",
          [flag](Operation *op) {
            if (op->hasAttr(flag))
              op->removeAttr(flag);
            else
              op->setAttr(flag, UnitAttr::get(op->getContext()));
          },
          flag);
  if (isa<JudgeOp>(op))
    add(
        "flag",
        [](Operation *op) {
          op->setAttr("divisor",
                      Builder(op->getContext()).getF64FloatAttr(7.0));
        },
        "divisor");
  if (isa<JudgeOp>(op))
    add(
        "flag",
        [](Operation *op) {
          Builder builder(op->getContext());
          if (op->hasAttr("micro_batches"))
            op->removeAttr("micro_batches");
          else
            op->setAttr("micro_batches", builder.getI64IntegerAttr(3));
        },
        "micro_batches");
  if (isa<AccumulateOp>(op))
    for (auto form :
         {AccumulateForm::Whole, AccumulateForm::Slice, AccumulateForm::Owned})
      if (form != cast<AccumulateOp>(op).getForm())
        add(
            "flag",
            [form](Operation *op) { cast<AccumulateOp>(op).setForm(form); },
            "form");
}

/// Every axis of the mesh alone, all of them, all in the other order, and none
/// where that can be left out, for what a mesh, a partition, a gather or a
/// slice says of axes.
void Generator::changeAxes(Operation *op) {
  auto meshes = module.getOps<MeshOp>();
  if (meshes.empty())
    return;
  AxesAttr all = (*meshes.begin()).getAxes();
  MLIRContext *context = op->getContext();
  SmallVector<AxesAttr> others = {
      all,
      AxesAttr::get(context, llvm::to_vector(llvm::reverse(all.getNames())),
                    llvm::to_vector(llvm::reverse(all.getSizes())))};
  for (auto [axis, size] : llvm::zip_equal(all.getNames(), all.getSizes()))
    others.push_back(AxesAttr::get(context, axis, size));
  for (StringRef what : {"axes", "over", "cut", "secondary"}) {
    auto said = op->getAttrOfType<AxesAttr>(what);
    if (!said)
      continue;
    for (AxesAttr other : others)
      if (other != said)
        add(
            "axes", [what, other](Operation *op) { op->setAttr(what, other); },
            what);
    if (what == "secondary" || isa<AllGatherOp, ExchangeGradientsOp>(op))
      add("axes", [what](Operation *op) { op->removeAttr(what); }, what);
  }
}

/// A gather that is not quantized, or is, and what has other blocks.
void Generator::changeQuantization(Operation *op) {
  auto gather = dyn_cast<AllGatherOp>(op);
  auto exchange = dyn_cast<ExchangeGradientsOp>(op);
  if (!gather && !exchange)
    return;
  MLIRContext *context = op->getContext();
  auto said = op->getAttrOfType<QuantizationAttr>("quantized");
  for (QuantizationAttr other :
       {QuantizationAttr(), QuantizationAttr::get(context, 8, 2),
        QuantizationAttr::get(context, 4, 4)})
    if (other != said && (other || gather))
      add("quantization", [other](Operation *op) {
        if (other)
          op->setAttr("quantized", other);
        else
          op->removeAttr("quantized");
      });
  if (exchange)
    for (auto step :
         {ExchangeStep::Whole, ExchangeStep::Within, ExchangeStep::Between})
      if (step != exchange.getStep())
        add(
            "flag",
            [step](Operation *op) {
              cast<ExchangeGradientsOp>(op).setStep(step);
            },
            "step");
}

/// An exchange that loses what it should keep, or the other way round; one that
/// forgets at another pace; and a partition that keeps other errors.
void Generator::changeFeedback(Operation *op) {
  MLIRContext *context = op->getContext();
  if (auto exchange = dyn_cast<ExchangeGradientsOp>(op))
    for (FeedbackAttr other :
         {FeedbackAttr(), FeedbackAttr::get(context, Real(0.8), 1024),
          FeedbackAttr::get(context, Real(0.5), 1024),
          FeedbackAttr::get(context, Real(0.8), 7)})
      if (other != exchange.getFeedbackAttr())
        add("feedback", [other](Operation *op) {
          auto exchange = cast<ExchangeGradientsOp>(op);
          if (other)
            exchange.setFeedbackAttr(other);
          else
            exchange.removeFeedbackAttr();
        });
  auto partition = dyn_cast<PartitionOp>(op);
  if (!partition || !partition.getErrors())
    return;
  for (const SmallVector<int64_t> &other :
       {SmallVector<int64_t>(), SmallVector<int64_t>{1},
        SmallVector<int64_t>{1, 2}})
    if (ArrayRef<int64_t>(other) != *partition.getErrors())
      add(
          "feedback",
          [other](Operation *op) {
            auto partition = cast<PartitionOp>(op);
            if (other.empty())
              partition.removeErrorsAttr();
            else
              partition.setErrors(other);
          },
          "errors");
}

std::vector<Mutant> Generator::run() {
  for (Operation *op : listOperations(module)) {
    if (isa<MeshOp, PartitionOp, AllGatherOp, SecondarySliceOp,
            ExchangeGradientsOp>(op)) {
      name = op->getName().getStringRef().str();
      changeAxes(op);
      changeFeedback(op);
    }
    if (isScheduleOperation(op)) {
      name = op->getName().getStringRef().str();
      deleteAndDouble(op);
      move(op);
      changeOperands(op);
      changeRange(op);
      changeRanges(op);
      changeHandles(op);
      changeSymbols(op);
      changeFlags(op);
      dropFact(op);
      swapFacts(op);
      changeQuantization(op);
    }
    ++current;
  }
  return std::move(mutants);
}

std::vector<Mutant> mlir::zero::generateMutants(ModuleOp module) {
  return Generator(module).run();
}
