//===- CutMutants.cpp - models that are cut wrongly -----------------------===//

#include "CutMutants.h"

#include "zero/Analysis/Mesh.h"
#include "zero/Dialect/NN/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::zero;

namespace {

using Change = std::function<void(Operation *)>;

class Lister {
public:
  Lister(ModuleOp module, AxesAttr other) : module(module), other(other) {}
  std::vector<CutMutant> run();
  std::vector<CutMutant> runSums();

private:
  void walk(llvm::function_ref<void(Operation *)> visit);
  void add(const Twine &name, Change change);
  template <typename OpT> void addSame(OpT op);
  template <typename OpT> void addOnce(OpT op);
  void addSum(AllReduceValueOp op);
  template <typename OpT> void addCut(OpT op);
  void addExchange(ExchangeValueOp op);
  void addGather(GatherValueOp op);
  void addNeedlessSum(Operation *op);
  void addParameter(ParameterOp op);
  void addGradient(GradientOp op);

  ModuleOp module;
  AxesAttr other;
  /// Of the operation that is being changed, in the order of a walk.
  size_t index = 0;
  Operation *place = nullptr;
  std::vector<CutMutant> mutants;
};

} // namespace

static Operation *findOperation(ModuleOp module, size_t wanted) {
  size_t index = 0;
  Operation *found = nullptr;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (index++ == wanted)
      found = op;
  });
  return found;
}

void Lister::add(const Twine &name, Change change) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << name << " of " << place->getName();
  if (auto parameter = dyn_cast<ParameterOp>(place))
    os << " @" << parameter.getSymName();
  else if (auto gradient = dyn_cast<GradientOp>(place))
    os << ' ' << gradient.getParameterAttr();
  else
    os << " at " << place->getLoc();
  mutants.push_back({text, [change, at = index](ModuleOp copy) {
                       change(findOperation(copy, at));
                     }});
}

static void drop(Operation *op) {
  op->getResult(0).replaceAllUsesWith(op->getOperand(0));
  op->erase();
}

/// The operation on its result as well.
static void doubleIt(Operation *op) {
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Operation *second = builder.clone(*op);
  op->getResult(0).replaceAllUsesExcept(second->getResult(0), second);
  second->setOperand(0, op->getResult(0));
}

/// The one reader of `op`, where it gives a value of the same type.
static Operation *findReader(Operation *op) {
  Value value = op->getResult(0);
  if (!value.hasOneUse())
    return nullptr;
  Operation *reader = *value.getUsers().begin();
  bool fits = reader->getNumResults() > 0 &&
              reader->getResult(0).getType() == value.getType() &&
              !isa<GradientOp>(reader);
  return fits ? reader : nullptr;
}

/// First what reads the result, then the operation.
static void moveBehind(Operation *op) {
  Operation *reader = findReader(op);
  op->getResult(0).replaceAllUsesWith(op->getOperand(0));
  op->moveAfter(reader);
  reader->getResult(0).replaceAllUsesExcept(op->getResult(0), op);
  op->setOperand(0, reader->getResult(0));
}

template <typename OpT> void Lister::addSame(OpT op) {
  addOnce(op);
  add("doubled", doubleIt);
}

/// Whether no gradient of `value` goes on to a parameter.
static bool isStopped(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || isa<nn::StopGradientOp>(op) ||
      !isa<FloatType>(getElementTypeOrSelf(value.getType())))
    return true;
  return !isa<LoadOp>(op) && llvm::all_of(op->getOperands(), isStopped);
}

/// Two of them are one.
template <typename OpT> void Lister::addOnce(OpT) {
  add("dropped", drop);
  add("over another axis", [axes = other](Operation *changed) {
    cast<OpT>(changed).setOverAttr(axes);
  });
}

void Lister::addSum(AllReduceValueOp op) {
  addSame(op);
  if (findReader(op))
    add("behind its reader", moveBehind);
}

/// The one operation between a gather and a slice of the same cut, where it can
/// be given a part.
static Operation *findBetween(GatherValueOp gather) {
  Operation *reader = findReader(gather);
  if (!reader || reader->getNumOperands() != 1 ||
      reader->getNumResults() != 1 || !reader->hasOneUse())
    return nullptr;
  auto slice = dyn_cast<SliceValueOp>(*reader->getUsers().begin());
  return slice && slice.getCut() == gather.getCut() ? reader : nullptr;
}

/// Each rank computes of its part what needs the whole.
static void leaveApart(Operation *gather) {
  Operation *reader = findReader(gather);
  Operation *slice = *reader->getUsers().begin();
  reader->setOperand(0, gather->getOperand(0));
  reader->getResult(0).setType(slice->getResult(0).getType());
  drop(slice);
  gather->erase();
}

/// Half of each piece, twice as often; nothing where ranks have no two indices.
static CutAttr halve(CutAttr cut) {
  SmallVector<int64_t> pieces;
  for (int64_t piece : cut.getPieces()) {
    if (piece % (2 * cut.getOver().getSize()) != 0)
      return {};
    pieces.push_back(piece / 2);
  }
  return CutAttr::get(cut.getContext(), cut.getDim(), cut.getRepeats() * 2,
                      pieces, cut.getOver());
}

bool mlir::zero::isOfDropout(Operation *op) {
  Value value = op->getResult(0);
  auto isMoved = [](Operation *user) {
    return user->getNumResults() == 1 &&
           (user->getNumOperands() == 1 || isa<arith::AddIOp>(user));
  };
  while (value.hasOneUse() && isMoved(*value.getUsers().begin()))
    value = value.getUsers().begin()->getResult(0);
  return op->getParentOfType<EvaluateOp>() &&
         llvm::all_of(value.getUsers(), [](Operation *user) {
           return isa<nn::PartialDropoutOp, nn::PartialAttentionOp>(user);
         });
}

template <typename OpT> void Lister::addCut(OpT op) {
  if (isOfDropout(op))
    return;
  if (CutAttr halves = halve(op.getCut()))
    add("of other pieces",
        [=](Operation *changed) { cast<OpT>(changed).setCutAttr(halves); });
  if (other.getSize() != op.getCut().getOver().getSize())
    return;
  auto elsewhere =
      CutAttr::get(op.getContext(), op.getCut().getDim(),
                   op.getCut().getRepeats(), op.getCut().getPieces(), other);
  add("over another axis",
      [=](Operation *changed) { cast<OpT>(changed).setCutAttr(elsewhere); });
}

/// Each place with the sum of its expert's: of other ranks' samples as well.
static void mixPlaces(Operation *changed) {
  auto exchange = cast<ExchangeValueOp>(changed);
  auto type = cast<RankedTensorType>(exchange.getType());
  int64_t dim = exchange.getFrom().getDim();
  SmallVector<int64_t> kept, shape;
  for (auto [index, size] : llvm::enumerate(type.getShape()))
    if (static_cast<int64_t>(index) != dim) {
      kept.push_back(static_cast<int64_t>(index));
      shape.push_back(size);
    }
  OpBuilder builder(changed->getContext());
  builder.setInsertionPointAfter(changed);
  Value sum = nn::ReduceOp::create(builder, changed->getLoc(),
                                   type.clone(shape), exchange.getResult(),
                                   nn::Reduction::Sum, ArrayRef<int64_t>{dim});
  Value sums =
      nn::BroadcastOp::create(builder, changed->getLoc(), type, sum, kept);
  auto mixed = arith::AddFOp::create(builder, changed->getLoc(),
                                     exchange.getResult(), sums);
  exchange.getResult().replaceUsesWithIf(mixed, [&](OpOperand &use) {
    return use.getOwner() != mixed && use.getOwner() != sum.getDefiningOp();
  });
}

void Lister::addExchange(ExchangeValueOp op) {
  if (CutAttr halves = halve(op.getFrom()))
    add("from other pieces", [=](Operation *changed) {
      cast<ExchangeValueOp>(changed).setFromAttr(halves);
    });
  if (CutAttr halves = halve(op.getTo()))
    add("to other pieces", [=](Operation *changed) {
      cast<ExchangeValueOp>(changed).setToAttr(halves);
    });
  // Places to the ranks of their experts.
  if (cutsExperts(op.getTo().getOver()) &&
      op.getTo().getDim() < op.getFrom().getDim())
    add("with its sum behind", mixPlaces);
}

void Lister::addGather(GatherValueOp op) {
  addCut(op);
  if (op->getParentOfType<StepOp>().isModel() && op.getReplicated())
    add("not replicated", [](Operation *changed) {
      cast<GatherValueOp>(changed).setReplicated(false);
    });
  if (findBetween(op))
    add("left apart", leaveApart);
}

/// A sum over ranks where there is none.
void Lister::addNeedlessSum(Operation *op) {
  auto isFloats = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && isa<FloatType>(tensor.getElementType());
  };
  if (op->getNumResults() == 0 || isa<AllReduceValueOp>(op) ||
      op->getResult(0).use_empty() || !op->getParentOfType<StepOp>() ||
      !isFloats(op->getResult(0).getType()))
    return;
  for (AxesAttr axes : listModelAxes(module))
    add("summed", [=](Operation *changed) {
      Value value = changed->getResult(0);
      OpBuilder builder(changed->getContext());
      builder.setInsertionPointAfter(changed);
      auto sum = AllReduceValueOp::create(builder, changed->getLoc(),
                                          value.getType(), value, axes);
      value.replaceAllUsesExcept(sum.getResult(), sum);
    });
}

void Lister::addParameter(ParameterOp op) {
  SmallVector<CutAttr, 2> all = op.getCutList();
  for (size_t index = 0; index < all.size(); ++index)
    if (CutAttr halves = halve(all[index]))
      add("of other pieces", [=](Operation *changed) {
        SmallVector<Attribute> cuts(
            llvm::to_vector(cast<ParameterOp>(changed).getCuts()->getValue()));
        cuts[index] = halves;
        changed->setAttr("cuts", ArrayAttr::get(changed->getContext(), cuts));
      });
}

void Lister::addGradient(GradientOp op) {
  AxesAttr axes = listModelAxes(module).front();
  add("summed again", [=](Operation *gradient) {
    OpBuilder builder(gradient);
    Value value = gradient->getOperand(0);
    gradient->setOperand(
        0, AllReduceValueOp::create(builder, gradient->getLoc(),
                                    value.getType(), value, axes));
  });
}

void Lister::walk(llvm::function_ref<void(Operation *)> visit) {
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    place = op;
    visit(op);
    ++index;
  });
}

std::vector<CutMutant> Lister::run() {
  walk([&](Operation *op) {
    if (auto sum = dyn_cast<AllReduceValueOp>(op))
      addSum(sum);
    if (auto replicate = dyn_cast<ReplicateOp>(op);
        replicate && !isStopped(replicate.getValue()))
      addSame(replicate);
    if (auto once = dyn_cast<CountOnceOp>(op))
      addOnce(once);
    if (auto term = dyn_cast<TermValueOp>(op))
      addOnce(term);
    if (auto slice = dyn_cast<SliceValueOp>(op))
      addCut(slice);
    if (auto gather = dyn_cast<GatherValueOp>(op))
      addGather(gather);
    if (auto scatter = dyn_cast<ScatterValueOp>(op)) {
      addCut(scatter);
      add("of this rank's term", [](Operation *changed) {
        auto op = cast<ScatterValueOp>(changed);
        OpBuilder builder(op);
        op.replaceAllUsesWith(SliceValueOp::create(builder, op.getLoc(),
                                                   op.getType(), op.getValue(),
                                                   op.getCut())
                                  .getResult());
        op.erase();
      });
    }
    if (auto exchange = dyn_cast<ExchangeValueOp>(op))
      addExchange(exchange);
    if (auto parameter = dyn_cast<ParameterOp>(op))
      addParameter(parameter);
    if (auto gradient = dyn_cast<GradientOp>(op))
      addGradient(gradient);
  });
  return std::move(mutants);
}

std::vector<CutMutant> Lister::runSums() {
  walk([&](Operation *op) { addNeedlessSum(op); });
  return std::move(mutants);
}

std::vector<CutMutant> mlir::zero::listCutMutants(ModuleOp module,
                                                  AxesAttr other) {
  return Lister(module, other).run();
}

std::vector<CutMutant> mlir::zero::listNeedlessSums(ModuleOp module) {
  return Lister(module, /*other=*/{}).runSums();
}
