//===- CutNumbers.cpp - models that are cut by wrong numbers --------------===//

#include "CutMutants.h"

#include "zero/Analysis/Mesh.h"
#include "zero/Dialect/NN/NN.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <numeric>

using namespace mlir;
using namespace mlir::zero;

namespace {

using Numbers = SmallVector<int32_t>;

class Lister {
public:
  explicit Lister(ModuleOp module) : module(module) {}
  std::vector<CutMutant> run();

private:
  using Change = std::function<void(Operation *)>;
  void add(const Twine &name, Change change);
  void addFirsts(SliceValueOp op);
  void addPieces(Operation *op, CutAttr cut,
                 std::function<void(Operation *, CutAttr)> set);
  void addCounts(nn::ReduceOp op);

  ModuleOp module;
  size_t index = 0;
  Operation *place = nullptr;
  std::vector<CutMutant> mutants;
};

} // namespace

void Lister::add(const Twine &name, Change change) {
  std::string text;
  llvm::raw_string_ostream(text)
      << name << " of " << place->getName() << " at " << place->getLoc();
  mutants.push_back({text, [change, wanted = index](ModuleOp copy) {
                       size_t index = 0;
                       Operation *found = nullptr;
                       copy->walk<WalkOrder::PreOrder>([&](Operation *op) {
                         if (index++ == wanted)
                           found = op;
                       });
                       change(found);
                     }});
}

/// The first index of each rank's range, where `op` takes a rank's own.
static DenseIntElementsAttr findFirsts(SliceValueOp op) {
  DenseIntElementsAttr values;
  bool isFirsts = matchPattern(op.getValue(), m_Constant(&values)) &&
                  values.getElementType().isInteger(32) &&
                  op.getCut().getOver().getSize() == values.getNumElements();
  return isFirsts ? values : DenseIntElementsAttr();
}

void Lister::addFirsts(SliceValueOp op) {
  DenseIntElementsAttr values = findFirsts(op);
  if (!values)
    return;
  auto change = [&](StringRef name, llvm::function_ref<void(Numbers &)> edit) {
    auto numbers = llvm::to_vector(values.getValues<int32_t>());
    edit(numbers);
    auto other = DenseIntElementsAttr::get(values.getType(), numbers);
    add(name, [other](Operation *changed) {
      OpBuilder builder(changed);
      changed->setOperand(
          0, arith::ConstantOp::create(builder, changed->getLoc(), other));
    });
  };
  change("offset by one", [](Numbers &firsts) { ++firsts.back(); });
  change("offsets of other ranks",
         [](Numbers &firsts) { std::reverse(firsts.begin(), firsts.end()); });
  change("offsets of one rank",
         [](Numbers &firsts) { llvm::fill(firsts, firsts.back()); });
}

/// All segments, or all repeats, as one.
void Lister::addPieces(Operation *op, CutAttr cut,
                       std::function<void(Operation *, CutAttr)> set) {
  ArrayRef<int64_t> pieces = cut.getPieces();
  const int64_t repeats = pieces.size() > 1 ? cut.getRepeats() : 1;
  const int64_t piece =
      std::accumulate(pieces.begin(), pieces.end(), int64_t(0)) *
      (cut.getRepeats() / repeats);
  auto other = CutAttr::get(cut.getContext(), cut.getDim(), repeats, {piece},
                            cut.getOver());
  if (other != cut)
    add("segments as one", [=](Operation *changed) { set(changed, other); });
}

/// The slice of `labels`, of which `mask` says which count.
static SliceValueOp findSlice(Value mask) {
  Value labels = mask;
  while (Operation *op = labels.getDefiningOp()) {
    for (Operation *user : labels.getUsers())
      if (auto slice = dyn_cast<SliceValueOp>(user))
        return slice;
    if (op->getNumOperands() == 0 || op->getNumResults() != 1)
      break;
    labels = op->getOperand(0);
  }
  return {};
}

/// Labels that count, of this rank's positions alone; and each as often as
/// there are ranks.
void Lister::addCounts(nn::ReduceOp op) {
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type || type.getRank() != 0 ||
      !op->getOperand(0).getDefiningOp<arith::UIToFPOp>())
    return;
  SliceValueOp slice = findSlice(op->getOperand(0));
  if (!slice)
    return;
  CutAttr cut = slice.getCut();
  add("this rank's labels", [cut](Operation *changed) {
    OpBuilder builder(changed);
    Value mask = changed->getOperand(0);
    auto type = cast<RankedTensorType>(mask.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[cut.getDim()] /= cut.getOver().getSize();
    changed->setOperand(0, SliceValueOp::create(builder, changed->getLoc(),
                                                type.clone(shape), mask, cut));
  });
  add("labels of all ranks", [over = cut.getOver()](Operation *changed) {
    OpBuilder builder(changed->getContext());
    builder.setInsertionPointAfter(changed);
    Value count = changed->getResult(0);
    auto sum = AllReduceValueOp::create(builder, changed->getLoc(),
                                        count.getType(), count, over);
    count.replaceAllUsesExcept(sum.getResult(), sum);
  });
}

std::vector<CutMutant> Lister::run() {
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    place = op;
    if (auto slice = dyn_cast<SliceValueOp>(op); slice && !isOfDropout(op)) {
      addFirsts(slice);
      addPieces(op, slice.getCut(), [](Operation *changed, CutAttr cut) {
        cast<SliceValueOp>(changed).setCutAttr(cut);
      });
    }
    if (auto gather = dyn_cast<GatherValueOp>(op))
      addPieces(op, gather.getCut(), [](Operation *changed, CutAttr cut) {
        cast<GatherValueOp>(changed).setCutAttr(cut);
      });
    if (auto parameter = dyn_cast<ParameterOp>(op);
        parameter && parameter.getCutList().size() == 1)
      addPieces(op, parameter.getCutList().front(),
                [](Operation *changed, CutAttr cut) {
                  changed->setAttr(
                      "cuts", ArrayAttr::get(changed->getContext(), {cut}));
                });
    if (auto count = dyn_cast<nn::ReduceOp>(op))
      addCounts(count);
    ++index;
  });
  return std::move(mutants);
}

std::vector<CutMutant> mlir::zero::listNumberMutants(ModuleOp module) {
  return Lister(module).run();
}
