//===- VerifyGradients.cpp - each gradient is reduced and checked once ----===//
//
// Follows the stored gradient of each partition, cut at segments and members:
// how many micro-batches of the update it holds, over which ranks, and whether
// a collective is at it.
//
//===----------------------------------------------------------------------===//

#include "VerifyStore.h"

#include "program/Collective.h"

using namespace mlir;
using namespace mlir::zero;
using namespace mlir::zero::verify;

namespace {

class Gradients : public Tracker {
public:
  explicit Gradients(const Tables &tables);
  void enter() override;
  LogicalResult visit(Operation &op) override;
  LogicalResult leave() override;

private:
  LogicalResult visitGradient(GradientOp gradient);
  LogicalResult visitAccumulate(AccumulateOp accumulate);
  FailureOr<Level> findLevel(AccumulateOp accumulate, Store &store);
  LogicalResult verifyLocal(AccumulateOp accumulate, Store &store);
  LogicalResult add(AccumulateOp accumulate, MutableArrayRef<Cell> cells,
                    Level level);
  LogicalResult visitReduce(CollectiveOpInterface reduce);
  LogicalResult takeInRange(CollectiveOpInterface reduce, Store &store,
                            const PartitionRange &range);
  LogicalResult verifySums(CollectiveOpInterface reduce);
  LogicalResult takeIn(Operation *op, Store &store,
                       std::pair<int64_t, int64_t> range, ArrayAttr parameters,
                       ValueRange gradients);
  LogicalResult reduceStored(Operation *op, Store &store, int64_t begin,
                             int64_t end);
  LogicalResult combineRange(CollectiveOpInterface reduce,
                             const PartitionRange &range);
  LogicalResult visitReplicas(CollectiveOpInterface reduce);
  void visitWait(WaitOp wait);
  bool isComplete(const Cell &cell, PartitionOp partition) const;
  LogicalResult visitTie(TieGradientsOp tie);
  LogicalResult verifyTied(GradStatsOp stats, PartitionOp partition,
                           const Cell &cell);
  LogicalResult visitStats(GradStatsOp stats);
  LogicalResult visitCopy(CopyToHostOp copy);
  LogicalResult visitUpdate(Operation *update, FlatSymbolRefAttr partition,
                            std::optional<std::pair<int64_t, int64_t>> range);
  /// The store of a partition; an error at `op` where it has none.
  FailureOr<Store *> findStore(Operation *op, FlatSymbolRefAttr partition);

  const Tables &tables;
  DenseMap<StringAttr, std::unique_ptr<Store>> stores;
  /// The gradients that the present region has named, by parameter.
  DenseMap<StringAttr, SmallVector<GradientOp>> named;
};

} // namespace

//===----------------------------------------------------------------------===//
// Accumulation
//===----------------------------------------------------------------------===//

Gradients::Gradients(const Tables &tables) : tables(tables) {
  DenseMap<Attribute, SmallVector<int64_t>> cuts;
  tables.step->walk([&](Operation *op) {
    for (StringRef bound : {"begin", "end"})
      if (auto value = op->getAttrOfType<IntegerAttr>(bound))
        cuts[op->getAttr("partition")].push_back(value.getInt());
  });
  for (PartitionOp partition : tables.trained)
    stores[partition.getSymNameAttr()] = std::make_unique<Store>(
        partition, cuts[FlatSymbolRefAttr::get(partition.getSymNameAttr())]);
}

void Gradients::enter() {
  named.clear();
  auto micro = dyn_cast<MicroOp>(now.region);
  if (!micro || now.micro > 0 || !StepOp(tables.step).beginsBackward(micro))
    return;
  for (auto &[name, store] : stores)
    for (Cell &cell : store->cells) {
      cell.micros = cell.travelled = 0;
      cell.level = Level::Local;
      cell.isCombined = cell.isTied = false;
      cell.checkedBy = nullptr;
    }
}

FailureOr<Store *> Gradients::findStore(Operation *op,
                                        FlatSymbolRefAttr partition) {
  auto found = stores.find(partition.getAttr());
  if (found == stores.end())
    return op->emitOpError("works on the gradient of ")
           << partition << ", which is not trained";
  if (!isa<MicroOp, ApplyOp>(now.region))
    return op->emitOpError("works on gradients in a region that makes none");
  return found->second.get();
}

static LogicalResult reportForeign(AccumulateOp accumulate, Operation *start) {
  InFlightDiagnostic error =
      accumulate.emitOpError("stores as [")
      << accumulate.getBegin() << " to " << accumulate.getEnd() << ") of "
      << accumulate.getPartitionAttr()
      << " what was reduced for another place or in another form";
  error.attachNote(start->getLoc()) << "reduced here";
  return error;
}

/// A gradient of this rank alone: whole, and at its parameter's place.
LogicalResult Gradients::verifyLocal(AccumulateOp accumulate, Store &store) {
  if (accumulate.getForm() != AccumulateForm::Whole)
    return accumulate.emitOpError(
        "stores a part that no reduction over ranks has made");
  for (MemberAttr member : store.partition.getMemberRange()) {
    if (member.getOffset() != static_cast<int64_t>(accumulate.getBegin()) ||
        member.getOffset() + member.getSize() !=
            static_cast<int64_t>(accumulate.getEnd()))
      continue;
    if (isGradientOf(accumulate.getValue(), member.getParameter(), 0,
                     member.getSize()))
      return success();
    InFlightDiagnostic error = accumulate.emitOpError("stores in the place of ")
                               << member.getParameter()
                               << " what is not its gradient";
    describeGradient(error, accumulate.getValue());
    return error;
  }
  return accumulate.emitOpError("range [")
         << accumulate.getBegin() << " to " << accumulate.getEnd()
         << ") is no member of " << accumulate.getPartitionAttr();
}

FailureOr<Level> Gradients::findLevel(AccumulateOp accumulate, Store &store) {
  Operation *start = tables.handles.findStartOf(accumulate.getValue());
  if (!start) {
    if (failed(verifyLocal(accumulate, store)))
      return failure();
    return Level::Local;
  }
  auto reduce = dyn_cast<CollectiveOpInterface>(start);
  if (!reduce || !isReduction(start) || !reduce.getParameterNames())
    return reportForeign(accumulate, start);
  const AsyncBuffer *result =
      tables.findBuffer(cast<AsyncOpInterface>(start), accumulate.getValue());
  bool isSame = result && result->form == accumulate.getForm() &&
                result->partition == accumulate.getPartitionAttr() &&
                result->begin == static_cast<int64_t>(accumulate.getBegin()) &&
                result->end == static_cast<int64_t>(accumulate.getEnd());
  if (isSame && result->form == AccumulateForm::Whole)
    isSame = !store.partition.hasShardedGradients();
  if (isSame && result->form == AccumulateForm::Owned)
    isSame = reduce.getParameterNames() == accumulate.getParametersAttr();
  if (!isSame)
    return reportForeign(accumulate, start);
  return result->form == AccumulateForm::Whole ? Level::Everywhere
                                               : Level::Owner;
}

LogicalResult Gradients::add(AccumulateOp accumulate,
                             MutableArrayRef<Cell> cells, Level level) {
  // `apply` runs after the last micro-batch.
  int64_t before = isa<MicroOp>(now.region) ? now.micro : now.micros - 1;
  for (Cell &cell : cells) {
    if (cell.isCombined)
      return accumulate.emitOpError("changes the stored gradient of ")
             << accumulate.getPartitionAttr()
             << " after it was combined with that of replicas";
    if (cell.inFlight || cell.checkedBy) {
      InFlightDiagnostic error =
          accumulate.emitOpError("changes the stored gradient of ")
          << accumulate.getPartitionAttr()
          << (cell.inFlight ? " while it is being reduced"
                            : " after it was checked");
      error.attachNote(
          (cell.inFlight ? cell.inFlight : cell.checkedBy)->getLoc())
          << "here";
      return error;
    }
    if (cell.parameter && cell.micros > before)
      return accumulate.emitOpError("makes elements of ")
             << cell.parameter << " stored as a gradient more than once";
    if (cell.parameter && cell.micros > 0 && cell.level != level)
      return accumulate.emitOpError("adds to elements of ")
             << cell.parameter << " that are a sum over other ranks";
    cell.micros += cell.micros == before;
    cell.level = level;
  }
  return success();
}

LogicalResult Gradients::visitAccumulate(AccumulateOp accumulate) {
  FailureOr<Store *> store =
      findStore(accumulate, accumulate.getPartitionAttr());
  if (failed(store))
    return failure();
  FailureOr<Level> level = findLevel(accumulate, **store);
  if (failed(level))
    return failure();
  if (accumulate.getForm() != AccumulateForm::Owned)
    return add(accumulate,
               (*store)->range(accumulate.getBegin(), accumulate.getEnd()),
               *level);
  for (auto parameter :
       accumulate.getParameters()->getAsRange<FlatSymbolRefAttr>())
    if (auto [begin, end] = (*store)->partition.getElementsIn(
            parameter.getValue(), accumulate.getBegin(), accumulate.getEnd());
        failed(add(accumulate, (*store)->range(begin, end), *level)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// A reduction takes in each named gradient's elements in `range`, and each
/// only once.
LogicalResult Gradients::takeIn(Operation *op, Store &store,
                                std::pair<int64_t, int64_t> range,
                                ArrayAttr parameters, ValueRange gradients) {
  for (auto [parameter, gradient] :
       llvm::zip_equal(parameters.getAsRange<FlatSymbolRefAttr>(), gradients)) {
    int64_t offset = tables.getMember(parameter.getAttr()).getOffset();
    auto [begin, end] = store.partition.getElementsIn(
        parameter.getValue(), range.first, range.second);
    if (!isGradientOf(gradient, parameter, begin - offset, end - offset)) {
      InFlightDiagnostic error = op->emitOpError("takes in as the gradient of ")
                                 << parameter << " what is not";
      describeGradient(error, gradient);
      return error;
    }
    int64_t before = isa<MicroOp>(now.region) ? now.micro : now.micros - 1;
    for (Cell &cell : store.range(begin, end)) {
      if (cell.travelled > before)
        return op->emitOpError("makes elements of ")
               << parameter << " reduced over ranks more than once";
      cell.travelled = before + 1;
    }
  }
  return success();
}

LogicalResult Gradients::reduceStored(Operation *op, Store &store,
                                      int64_t begin, int64_t end) {
  for (Cell &cell : store.range(begin, end)) {
    if (cell.checkedBy) {
      InFlightDiagnostic error = op->emitOpError("reduces gradients of @")
                                 << store.partition.getSymName()
                                 << " after they were checked";
      error.attachNote(cell.checkedBy->getLoc()) << "checked here";
      return error;
    }
    if (cell.inFlight ||
        (cell.parameter && cell.micros > 0 && cell.level != Level::Local))
      return op->emitOpError("makes elements of @")
             << store.partition.getSymName()
             << " reduced over ranks more than once";
    if (cell.parameter && cell.micros != now.micros)
      return op->emitOpError("reduces the stored gradient of ")
             << cell.parameter << " before all micro-batches are in it";
    cell.inFlight = op;
  }
  return success();
}

/// A bucket of a range has all that lies in it; one that is reduced to owners
/// is for the layout whose slices do not follow buckets.
LogicalResult Gradients::takeInRange(CollectiveOpInterface reduce, Store &store,
                                     const PartitionRange &range) {
  ArrayAttr parameters = reduce.getParameterNames();
  auto start = cast<AsyncOpInterface>(reduce.getOperation());
  if (tables.getBuffers(start).front().form == AccumulateForm::Owned) {
    if (store.partition.getLayout() != LayoutKind::Contiguous)
      return reduce->emitOpError(
                 "reduces to the owners of a contiguous layout, and ")
             << range.partition << " is "
             << stringifyLayoutKind(store.partition.getLayout());
  } else {
    llvm::SmallDenseSet<Attribute> named(parameters.begin(), parameters.end());
    for (const Cell &cell : store.range(range.begin, range.end))
      if (cell.parameter && !named.contains(cell.parameter))
        return reduce->emitOpError("leaves out ")
               << cell.parameter << ", which lies in its range";
  }
  return takeIn(reduce, store, {range.begin, range.end}, parameters,
                reduce->getOperands());
}

/// Checks that the second step of an exchange takes the sums that the first
/// step has made of the same gradients.
LogicalResult Gradients::verifySums(CollectiveOpInterface reduce) {
  auto second = cast<ExchangeGradientsOp>(reduce.getOperation());
  for (auto [index, sum] : llvm::enumerate(second.getGradients())) {
    auto first = dyn_cast_if_present<ExchangeGradientsOp>(
        tables.handles.findStartOf(sum));
    if (!first || !isPartialReduction(first))
      return second.emitOpError("takes what no exchange within groups gives");
    AxesAttr cut = tables.find(second.getPartitionAttr()).getCut();
    bool isSame = cast<OpResult>(sum).getResultNumber() == index &&
                  first.getPartitionAttr() == second.getPartitionAttr() &&
                  first.getBegin() == second.getBegin() &&
                  first.getEnd() == second.getEnd() &&
                  first.getParameters() == second.getParameters() &&
                  cut.without(first.getOverAttr()) == second.getOverAttr();
    if (isSame)
      continue;
    InFlightDiagnostic error =
        second.emitOpError("takes sums of other gradients, or of other ranks, "
                           "than those that it adds up");
    error.attachNote(first.getLoc()) << "added up here";
    return error;
  }
  return success();
}

LogicalResult Gradients::visitReduce(CollectiveOpInterface reduce) {
  if (takesSums(reduce))
    return verifySums(reduce);
  for (const PartitionRange &range : reduce.getPartitionRanges(tables)) {
    FailureOr<Store *> store = findStore(reduce, range.partition);
    if (failed(store))
      return failure();
    if (!reduce.getParameterNames()) {
      if (failed(reduceStored(reduce, **store, range.begin, range.end)))
        return failure();
      continue;
    }
    if (failed(takeInRange(reduce, **store, range)))
      return failure();
  }
  return success();
}

/// Replicas combine what their groups have reduced, complete, and once.
LogicalResult Gradients::combineRange(CollectiveOpInterface reduce,
                                      const PartitionRange &range) {
  FailureOr<Store *> store = findStore(reduce, range.partition);
  if (failed(store))
    return failure();
  for (Cell &cell : (*store)->range(range.begin, range.end)) {
    if (cell.checkedBy) {
      InFlightDiagnostic error = reduce->emitOpError("reduces gradients of ")
                                 << range.partition
                                 << " after they were checked";
      error.attachNote(cell.checkedBy->getLoc()) << "checked here";
      return error;
    }
    if (cell.isCombined)
      return reduce->emitOpError("combines replicas of ")
             << range.partition << " more than once";
    if (cell.inFlight || (cell.parameter && (cell.level == Level::Local ||
                                             cell.micros != now.micros)))
      return reduce->emitOpError("combines replicas of ")
             << range.partition << " before their own gradients are reduced";
    cell.inFlight = reduce.getOperation();
    cell.isCombined = true;
  }
  return success();
}

LogicalResult Gradients::visitReplicas(CollectiveOpInterface reduce) {
  for (const PartitionRange &range : reduce.getPartitionRanges(tables))
    if (failed(combineRange(reduce, range)))
      return failure();
  return success();
}

void Gradients::visitWait(WaitOp wait) {
  Operation *start = tables.handles.findStart(wait.getPending());
  if (!start || (!isReduction(start) && !combinesReplicas(start)))
    return;
  bool isEverywhere = cast<CollectiveOpInterface>(start).getKind() ==
                      zrt::Collective::AllReduce;
  for (const PartitionRange &range :
       cast<CollectiveOpInterface>(start).getPartitionRanges(tables)) {
    auto found = stores.find(range.partition.getAttr());
    if (found == stores.end())
      continue;
    for (Cell &cell : found->second->range(range.begin, range.end))
      if (cell.inFlight == start) {
        cell.inFlight = nullptr;
        if (isReduction(start))
          cell.level = isEverywhere ? Level::Everywhere : Level::Owner;
      }
  }
}

//===----------------------------------------------------------------------===//
// Check and update
//===----------------------------------------------------------------------===//

/// Whether a cell has all that ranks of this stage give.
bool Gradients::isComplete(const Cell &cell, PartitionOp partition) const {
  bool isReduced =
      cell.level != Level::Local || partition.isSilent(tables.training);
  return isReduced && cell.micros == now.micros &&
         (cell.isCombined || partition.getReplicas() == 1);
}

/// Stages add up what each of them has reduced, complete, and once.
LogicalResult Gradients::visitTie(TieGradientsOp tie) {
  FailureOr<Store *> store = findStore(tie, tie.getPartitionAttr());
  if (failed(store))
    return failure();
  PartitionOp partition = (*store)->partition;
  for (Cell &cell : (*store)->range(0, partition.getFlatElements())) {
    if (cell.isTied || cell.checkedBy)
      return tie.emitOpError("adds up gradients of ")
             << tie.getPartitionAttr()
             << (cell.isTied ? " a second time" : " after they were checked");
    if (cell.inFlight || (cell.parameter && !isComplete(cell, partition)))
      return tie.emitOpError("adds up gradients of ")
             << tie.getPartitionAttr()
             << " before they are reduced and complete";
    cell.isTied = true;
  }
  return success();
}

/// Gradients that stages share may be checked only after they were added up.
LogicalResult Gradients::verifyTied(GradStatsOp stats, PartitionOp partition,
                                    const Cell &cell) {
  if (partition.getStages() && !cell.isTied)
    return stats.emitOpError("checks gradients of @")
           << partition.getSymName()
           << " before those of other stages are added; wanted a "
              "'zero.tie_gradients' before it";
  return success();
}

LogicalResult Gradients::visitStats(GradStatsOp stats) {
  for (auto [index, partition] :
       llvm::enumerate(stats.getPartitions().getAsRange<FlatSymbolRefAttr>())) {
    FailureOr<Store *> store = findStore(stats, partition);
    if (failed(store))
      return failure();
    auto [begin, end] = stats.getRange(index, (*store)->partition);
    for (Cell &cell : (*store)->range(begin, end)) {
      if (cell.inFlight) {
        InFlightDiagnostic error = stats.emitOpError("checks gradients of ")
                                   << partition
                                   << " before their reduction was waited for";
        error.attachNote(cell.inFlight->getLoc()) << "started here";
        return error;
      }
      if (failed(verifyTied(stats, (*store)->partition, cell)))
        return failure();
      if (cell.checkedBy)
        return stats.emitOpError("counts gradients of ")
               << partition << " a second time";
      cell.checkedBy = stats;
    }
  }
  return success();
}

/// Checks that gradients are complete when they are copied to the host.
LogicalResult Gradients::visitCopy(CopyToHostOp copy) {
  if (copy.getState() != "gradients")
    return success();
  FailureOr<Store *> store = findStore(copy, copy.getPartitionAttr());
  if (failed(store))
    return failure();
  for (const Cell &cell : (*store)->range(copy.getBegin(), copy.getEnd()))
    if (cell.inFlight ||
        (cell.parameter && !isComplete(cell, (*store)->partition)))
      return copy.emitOpError("copies gradients of ")
             << copy.getPartitionAttr()
             << " before they are reduced and complete";
  return success();
}

LogicalResult
Gradients::visitUpdate(Operation *update, FlatSymbolRefAttr partition,
                       std::optional<std::pair<int64_t, int64_t>> range) {
  FailureOr<Store *> store = findStore(update, partition);
  if (failed(store))
    return failure();
  auto [begin, end] = range.value_or(
      std::pair<int64_t, int64_t>(0, (*store)->partition.getFlatElements()));
  for (const Cell &cell : (*store)->range(begin, end))
    if (!cell.checkedBy)
      return update->emitOpError("updates ")
             << partition
             << ", whose gradients no 'zero.grad_stats' has checked";
  return success();
}

/// Each element of a parameter has one gradient a micro-batch, and it is used.
LogicalResult Gradients::visitGradient(GradientOp gradient) {
  auto [begin, end] = gradient.getElements();
  if (begin == end)
    return success();
  if (gradient->use_empty())
    return gradient.emitOpError("of ")
           << gradient.getParameterAttr() << " is neither reduced nor stored";
  auto &known = named[gradient.getParameterAttr().getAttr()];
  for (GradientOp other : known) {
    auto [first, last] = other.getElements();
    if (end <= first || last <= begin)
      continue;
    InFlightDiagnostic error = gradient.emitOpError("names elements of ")
                               << gradient.getParameterAttr()
                               << " that have a gradient already";
    error.attachNote(other.getLoc()) << "named here";
    return error;
  }
  known.push_back(gradient);
  return success();
}

LogicalResult Gradients::visit(Operation &op) {
  if (auto gradient = dyn_cast<GradientOp>(op))
    return visitGradient(gradient);
  if (auto accumulate = dyn_cast<AccumulateOp>(op))
    return visitAccumulate(accumulate);
  if (isReduction(&op))
    return visitReduce(cast<CollectiveOpInterface>(op));
  if (combinesReplicas(&op))
    return visitReplicas(cast<CollectiveOpInterface>(op));
  if (auto tie = dyn_cast<TieGradientsOp>(op))
    return visitTie(tie);
  if (auto stats = dyn_cast<GradStatsOp>(op))
    return visitStats(stats);
  if (auto copy = dyn_cast<CopyToHostOp>(op))
    return visitCopy(copy);
  if (auto update = dyn_cast<UpdateOp>(op))
    return visitUpdate(update, update.getPartitionAttr(),
                       update.getBegin()
                           ? std::optional(std::pair<int64_t, int64_t>(
                                 *update.getBegin(), *update.getEnd()))
                           : std::nullopt);
  if (auto update = dyn_cast<UpdateOnHostOp>(op))
    return visitUpdate(
        update, update.getPartitionAttr(),
        std::pair<int64_t, int64_t>(update.getBegin(), update.getEnd()));
  if (auto wait = dyn_cast<WaitOp>(op))
    visitWait(wait);
  return success();
}

LogicalResult Gradients::leave() {
  if (!isa<ApplyOp>(now.region))
    return success();
  for (PartitionOp partition : tables.trained)
    if (failed(stores[partition.getSymNameAttr()]->verifyComplete(now.micros)))
      return failure();
  return success();
}

LogicalResult verify::verifyGradients(const Tables &tables) {
  Gradients gradients(tables);
  return simulate(tables, gradients);
}
