//===- ScheduleInterpreter.cpp - regions, values, updates -----------------===//

#include "ScheduleInterpreter.h"

#include "zero/Analysis/Schedule.h"
#include "zero/Analysis/Views.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace mlir::zero;

ScheduleInterpreter::ScheduleInterpreter(
    ModuleOp module, Interpreter &interpreter,
    std::function<std::vector<Array>(uint64_t)> data, RunOptions options)
    : module(module), step(*module.getOps<StepOp>().begin()), table(module),
      mesh(getMesh(module, *step.getTraining()).all), interpreter(interpreter),
      data(std::move(data)), options(options) {
  ranks = step.getTraining()->getRanks();
  micros = step.getTraining()->getAccumulation();
  control.resize(ranks);
  values.resize(ranks);
}

bool ScheduleInterpreter::fail(Operation &op, const Twine &why) {
  failure = (op.getName().getStringRef() + " " + why).str();
  return false;
}

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

/// The first value of an element: a function of parameter and element alone.
static double initialValue(StringRef parameter, int64_t element) {
  return 0.3 *
         std::sin(1.0 + element * 0.7 + llvm::hash_value(parameter.size()) % 7 +
                  parameter.back() * 0.31 +
                  parameter[parameter.size() / 2] * 0.17);
}

int64_t ScheduleInterpreter::ownerOf(PartitionOp partition, int64_t element,
                                     int64_t slices) {
  ArrayRef<int64_t> segments = partition.getSegments();
  const int64_t *end = llvm::upper_bound(segments, element);
  int64_t begin = *std::prev(end);
  return (element - begin) / ((*end - begin) / slices);
}

int64_t ScheduleInterpreter::ownerOf(PartitionOp partition, int64_t element) {
  return ownerOf(partition, element, partition.getSlices());
}

int64_t ScheduleInterpreter::indexIn(PartitionOp partition, int64_t rank) {
  return mesh.getIndexIn(partition.getCut(), rank);
}

SmallVector<int64_t> ScheduleInterpreter::peersOf(int64_t rank, AxesAttr axes) {
  AxesAttr others = axes ? mesh.without(axes) : AxesAttr();
  SmallVector<int64_t> peers;
  for (int64_t peer = 0; peer < ranks; ++peer)
    if (!others ||
        mesh.getIndexIn(others, peer) == mesh.getIndexIn(others, rank))
      peers.push_back(peer);
  return peers;
}

int64_t ScheduleInterpreter::ownerFor(int64_t rank, PartitionOp partition,
                                      int64_t element) {
  return peersOf(rank, partition.getCut())[ownerOf(partition, element)];
}

bool ScheduleInterpreter::isOwned(PartitionOp partition, int64_t element,
                                  int64_t rank, bool isSharded) {
  return !isSharded || ownerOf(partition, element) == indexIn(partition, rank);
}

PartitionOp ScheduleInterpreter::partitionOf(StringRef parameter) {
  for (auto &entry : partitions)
    if (entry.second.findMember(parameter))
      return entry.second;
  return {};
}

void ScheduleInterpreter::initializeState() {
  for (PartitionOp partition : module.getOps<PartitionOp>()) {
    partitions[partition.getSymName()] = partition;
    int64_t elements = partition.getFlatElements();
    std::vector<double> first(elements, 0.0), gradient(elements, 0.0);
    for (MemberAttr member : partition.getMemberRange())
      for (int64_t i = 0; i < member.getSize(); ++i) {
        first[member.getOffset() + i] =
            initialValue(member.getParameter().getValue(), i);
        gradient[member.getOffset() + i] = NAN;
      }
    auto &state = states[partition.getSymName()];
    for (int64_t rank = 0; rank < ranks; ++rank) {
      RankState &own = state.emplace_back();
      own.parameters = first;
      own.gradients = gradient;
      own.moment.assign(elements, 0.0);
      for (int64_t i = 0; i < elements; ++i) {
        if (!isOwned(partition, i, rank, partition.hasShardedParameters()))
          own.parameters[i] = NAN;
        if (!partition.isTrainable())
          continue;
        if (!isOwned(partition, i, rank, partition.hasShardedGradients()))
          own.gradients[i] = NAN;
        if (!isOwned(partition, i, rank, partition.hasShardedOptimizer()))
          own.moment[i] = NAN;
      }
    }
  }
}

bool ScheduleInterpreter::readParameter(LoadOp load, int64_t rank,
                                        Array &result) {
  result = Array::zeros(load.getType());
  PartitionOp partition = partitionOf(load.getParameter());
  if (!partition)
    return fail(*load, "reads a parameter that is in no partition");
  auto resident = residents.find(load.getParameter());
  if (resident != residents.end()) {
    std::copy_n(resident->second[rank].begin(), result.size(),
                result.reals.begin());
    return true;
  }
  MemberAttr member = partition.findMember(load.getParameter());
  const auto &state = states[partition.getSymName()][rank].parameters;
  std::copy_n(state.begin() + member.getOffset(), result.size(),
              result.reals.begin());
  return true;
}

/// Loads and views are no copies: what they give is read when it is used.
bool ScheduleInterpreter::materialize(Value value, int64_t rank,
                                      Array &result) {
  Operation *producer = value.getDefiningOp();
  if (auto load = dyn_cast_or_null<LoadOp>(producer); load && !load.getSource())
    return readParameter(load, rank, result);
  if (producer && getView(producer)) {
    Array source;
    SmallVector<Array> out;
    if (!materialize(producer->getOperand(0), rank, source) ||
        !evaluate(*producer, rank, {&source}, out))
      return false;
    result = std::move(out.front());
    return true;
  }
  auto found = values[rank].find(value);
  if (found == values[rank].end())
    return failure = "a value is used that nothing has made", false;
  result = found->second;
  return true;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

bool ScheduleInterpreter::evaluate(Operation &op, int64_t rank,
                                   ArrayRef<const Array *> in,
                                   SmallVectorImpl<Array> &out) {
  const EvaluationRule *rule =
      interpreter.getRules().find(op.getName().getStringRef());
  if (!rule)
    return fail(op, "has no rule");
  for (Type type : op.getResultTypes())
    out.push_back(Array::zeros(type));
  InterpreterContext context;
  context.seed = 11;
  context.evaluating = isEvaluating;
  context.firstSample = (((updateIndex * micros) + micro) * ranks + rank) * 2;
  context.lossSeed = 1.0 / static_cast<double>(micros);
  Evaluation evaluation{context, in, out};
  return succeeded((*rule)(&op, evaluation)) || fail(op, "cannot be evaluated");
}

bool ScheduleInterpreter::compute(Operation &op) {
  if (isa<LoadOp>(op) || getView(&op))
    return true;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    SmallVector<Array> in(op.getNumOperands()), out;
    SmallVector<const Array *> pointers;
    for (auto [index, operand] : llvm::enumerate(op.getOperands())) {
      if (!materialize(operand, rank, in[index]))
        return false;
      pointers.push_back(&in[index]);
    }
    if (!evaluate(op, rank, pointers, out))
      return false;
    for (auto [result, array] : llvm::zip_equal(op.getResults(), out))
      values[rank][result] = std::move(array);
  }
  return true;
}

bool ScheduleInterpreter::freeValues(FreeOp op) {
  for (Value value : op.getValues()) {
    Value root = getRoot(value);
    Operation *producer = root.getDefiningOp();
    if (!producer || isa<LoadOp>(producer) || !freed.insert(root).second)
      return fail(*op, "frees twice, or what is not the region's");
    for (auto &own : values)
      for (double &element : own[root].reals)
        element = NAN;
  }
  return true;
}

bool ScheduleInterpreter::visit(Operation &op) {
  return llvm::TypeSwitch<Operation *, bool>(&op)
      .Case([&](AsyncOpInterface op) {
        return op.getPending() ? start(op) : reduceStats(op);
      })
      .Case([&](WaitOp wait) { return this->wait(wait); })
      .Case([&](CarryOp op) { return carry(op); })
      .Case([&](CarriedOp op) { return take(op); })
      .Case([&](SecondarySliceOp op) { return cutSecondary(op); })
      .Case([&](AccumulateOp op) { return accumulate(op); })
      .Case([&](FreeOp op) { return freeValues(op); })
      .Case([&](GradStatsOp op) { return gradStats(op); })
      .Case([&](JudgeOp op) { return judge(op); })
      .Case([&](UpdateOp op) { return update(op); })
      .Case([&](UpdateScaleOp) {
        ++count;
        losses.push_back(control.front().lossSum /
                         (step.hasWeights()
                              ? control.front().weightSum
                              : static_cast<double>(micros * ranks)));
        for (Control &own : control)
          own.factor = own.unscale = NAN;
        squares.clear();
        return true;
      })
      .Case([&](YieldOp yield) {
        for (int64_t rank = 0; rank < ranks; ++rank) {
          Array loss, weight;
          if (!materialize(yield.getValues().front(), rank, loss) ||
              (yield.getWeight() &&
               !materialize(yield.getWeight(), rank, weight)))
            return false;
          if (isEvaluating && rank == 0)
            losses.push_back(loss.reals[0]);
          const double share = yield.getWeight() ? weight.reals[0] : 1.0;
          control[rank].lossSum += share * loss.reals[0];
          if (yield.getWeight())
            control[rank].weightSum += share;
        }
        return true;
      })
      .Default([&](Operation *) {
        return startsOperation(&op) ? fail(op, "does not say what is in flight")
                                    : compute(op);
      });
}

//===----------------------------------------------------------------------===//
// Gradients and updates
//===----------------------------------------------------------------------===//

/// A bucket of members' elements in a range, of which a rank's own count.
bool ScheduleInterpreter::storeOwned(AccumulateOp op, PartitionOp partition,
                                     int64_t rank, const Array &value) {
  auto &stored = states[partition.getSymName()][rank].gradients;
  int64_t next = 0;
  for (auto symbol : op.getParameters()->getAsRange<FlatSymbolRefAttr>()) {
    MemberAttr member = partition.findMember(symbol.getValue());
    if (!member)
      return fail(*op, "names what is not in its bucket");
    for (int64_t i = 0; i < member.getSize(); ++i) {
      int64_t element = member.getOffset() + i;
      if (element < static_cast<int64_t>(op.getBegin()) ||
          element >= static_cast<int64_t>(op.getEnd()))
        continue;
      if (next >= value.size())
        return fail(*op, "names what is not in its bucket");
      double own = value.reals[next++];
      if (isOwned(partition, element, rank, true))
        stored[element] = own + (micro == 0 ? 0.0 : stored[element]);
    }
  }
  return true;
}

bool ScheduleInterpreter::accumulate(AccumulateOp op) {
  PartitionOp partition = partitions.lookup(op.getPartition());
  for (int64_t rank = 0; rank < ranks; ++rank) {
    Array value;
    if (!partition.isTrainable() || !materialize(op.getValue(), rank, value))
      return fail(*op, "has no value or no stored gradient");
    if (op.getForm() == AccumulateForm::Owned) {
      if (!partition.hasShardedGradients() ||
          !storeOwned(op, partition, rank, value))
        return fail(*op, "is not of this layout");
      continue;
    }
    bool isSlice = op.getForm() == AccumulateForm::Slice;
    int64_t begin = op.getBegin(), end = op.getEnd();
    int64_t size =
        isSlice ? (end - begin) / partition.getSlices() : end - begin;
    int64_t first = begin + (isSlice ? indexIn(partition, rank) * size : 0);
    if (size != value.size() || end > partition.getFlatElements())
      return fail(*op, "has another size than its range");
    auto &stored = states[partition.getSymName()][rank].gradients;
    for (int64_t i = 0; i < size; ++i) {
      if (!isOwned(partition, first + i, rank, partition.hasShardedGradients()))
        return fail(*op, "writes what its rank does not hold");
      stored[first + i] =
          value.reals[i] + (micro == 0 ? 0.0 : stored[first + i]);
    }
  }
  return true;
}

bool ScheduleInterpreter::gradStats(GradStatsOp op) {
  std::vector<double> sums(ranks, 0.0);
  if (op.getSum()) {
    sums = squares.lookup(op.getSum());
    if (sums.empty())
      return fail(*op, "adds to what was not found");
  }
  for (auto [index, symbol] :
       llvm::enumerate(op.getPartitions().getAsRange<FlatSymbolRefAttr>())) {
    PartitionOp partition = partitions.lookup(symbol.getValue());
    if (!partition || !partition.isTrainable())
      return fail(*op, "reads a gradient that is not there");
    auto [begin, end] = op.getRange(index, partition);
    // Replicas hold the same elements, which count once.
    AxesAttr replicas = partition.hasShardedOptimizer()
                            ? mesh.without(partition.getCut())
                            : AxesAttr();
    for (int64_t rank = 0; rank < ranks; ++rank) {
      if (replicas && mesh.getIndexIn(replicas, rank) != 0)
        continue;
      const auto &stored = states[symbol.getValue()][rank].gradients;
      for (int64_t i = begin; i < end; ++i)
        if (partition.getOptimizerInterface().takesGradients() &&
            isOwned(partition, i, rank, partition.hasShardedOptimizer()))
          sums[rank] += stored[i] * stored[i];
    }
  }
  squares[op.getStats()] = std::move(sums);
  return true;
}

bool ScheduleInterpreter::reduceStats(Operation *op) {
  std::vector<double> sums = squares.lookup(op->getOperand(0));
  if (sums.empty())
    return fail(*op, "combines what was not found");
  double loss = 0, weight = 0, norm = 0;
  const bool isWeighted = op->hasAttr("weighted");
  for (int64_t rank = 0; rank < ranks; ++rank) {
    loss += control[rank].lossSum;
    weight += control[rank].weightSum;
    norm += sums[rank];
  }
  for (int64_t rank = 0; rank < ranks; ++rank) {
    control[rank].lossSum = loss;
    if (isWeighted)
      control[rank].weightSum = weight;
    if (!op->hasAttr("loss_only"))
      sums[rank] = norm;
  }
  squares[op->getResult(0)] = std::move(sums);
  return true;
}

bool ScheduleInterpreter::judge(JudgeOp op) {
  std::vector<double> sums = squares.lookup(op.getStats());
  if (sums.empty())
    return fail(*op, "judges what was not found");
  double clip = options.clips ? op.getClip().convertToDouble() : 0.0;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const double unweighted = op.getDivisor().convertToDouble();
    const double weights = control[rank].weightSum;
    const double s = op.getMicroBatches() && weights != 0
                         ? unweighted * weights / double(*op.getMicroBatches())
                         : unweighted;
    double norm = std::sqrt(sums[rank]) / s;
    control[rank].unscale = std::isnan(norm) ? NAN : 1.0 / unweighted;
    control[rank].factor =
        std::isnan(norm)
            ? NAN
            : (clip == 0 ? 1.0 : std::min(1.0, clip / (norm + 1e-6))) / s;
  }
  return true;
}

bool ScheduleInterpreter::update(UpdateOp op) {
  PartitionOp partition = partitions.lookup(op.getPartition());
  auto [begin, end] = op.getRange(partition);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    RankState &own = states[op.getPartition()][rank];
    const double factor = partition.getOptimizerInterface().takesGradients()
                              ? control[rank].factor
                              : control[rank].unscale;
    for (int64_t i = begin; i < end; ++i) {
      if (isOwned(partition, i, rank, partition.hasShardedOptimizer()))
        updateElement(own.gradients[i], factor, own.moment[i],
                      own.parameters[i]);
      else
        own.parameters[i] = NAN;
    }
    for (MemberAttr member : partition.getMemberRange())
      if (auto found = residents.find(member.getParameter().getValue());
          found != residents.end() && member.getOffset() < end &&
          member.getOffset() + member.getSize() > begin)
        llvm::fill(found->second[rank], NAN);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Nothing that the region began may be left, but what it carries.
bool ScheduleInterpreter::finishRegion(Operation *region) {
  for (auto &[handle, flight] : flights)
    if (!flight.isCarried)
      return fail(*flight.op, "is not waited for");
  Operation &last = region->getRegion(0).front().back();
  for (auto [value, cause] : due) {
    bool isYielded =
        llvm::any_of(last.getOperands(), [value = value](Value operand) {
          return getRoot(operand) == value;
        });
    if (!freed.contains(value) &&
        !(isYielded && last.hasTrait<OpTrait::IsTerminator>()))
      return fail(*cause, "leaks");
  }
  return true;
}

bool ScheduleInterpreter::runRegion(Operation *region) {
  freed.clear();
  due.clear();
  for (int64_t rank = 0; rank < ranks; ++rank) {
    DenseMap<Value, Array> before = std::move(values[rank]);
    values[rank].clear();
    keepSources(before, values[rank]);
    uint64_t sample = (((updateIndex * micros) + micro) * ranks + rank) * 2;
    std::vector<Array> arguments = data(isEvaluating ? 1000 : sample);
    for (auto [value, array] :
         llvm::zip_equal(step.getBody().getArguments(), arguments))
      values[rank][value] = array;
  }
  for (Operation &op : region->getRegion(0).front())
    if (!runSome() || !visit(op))
      return false;
  return finishRegion(region);
}

bool ScheduleInterpreter::collect(RunResult &result) {
  for (auto &entry : partitions) {
    PartitionOp partition = entry.second;
    for (MemberAttr member : partition.getMemberRange()) {
      auto &whole = result.parameters[member.getParameter().getValue()];
      bool isSharded = partition.hasShardedParameters();
      for (int64_t i = member.getOffset();
           i < member.getOffset() + member.getSize(); ++i) {
        auto held = [&](int64_t rank) {
          int64_t owner = isSharded ? ownerFor(rank, partition, i) : rank;
          return states[entry.first()][owner].parameters[i];
        };
        whole.push_back(held(0));
        for (int64_t rank = 1; rank < ranks; ++rank)
          if (held(rank) != whole.back())
            whole.back() = NAN;
      }
    }
  }
  return true;
}

bool ScheduleInterpreter::runEvaluation() {
  auto evaluate = step.getRegionOp<EvaluateOp>();
  isEvaluating = true;
  micro = 0;
  bool isClean = drain() && (!evaluate || runRegion(evaluate));
  isEvaluating = false;
  return isClean;
}

RunResult ScheduleInterpreter::run() {
  RunResult result;
  initializeState();
  auto initialize = step.getRegionOp<InitializeOp>();
  bool isClean = !initialize || runRegion(initialize);
  for (updateIndex = 0; isClean && updateIndex < options.updates;
       ++updateIndex) {
    if (updateIndex == options.updates - 1)
      isClean = runEvaluation();
    control.assign(ranks, Control());
    for (micro = 0; isClean && micro < micros; ++micro)
      isClean = runRegion(micro + 1 == micros ? step.getLastMicro()
                                              : step.getRegionOp<MicroOp>());
    micro = micros - 1;
    isClean = isClean && runRegion(step.getRegionOp<ApplyOp>());
  }
  isClean = isClean && drain();
  if (isClean)
    collect(result);
  result.failure = isClean ? "" : failure;
  result.losses = losses;
  return result;
}

static std::string compareValues(const std::vector<double> &found,
                                 const std::vector<double> &wanted,
                                 StringRef what) {
  if (found.size() != wanted.size())
    return (what + " has another size").str();
  for (size_t i = 0; i < found.size(); ++i)
    if (!(std::fabs(found[i] - wanted[i]) <= 1e-9 * (1 + std::fabs(wanted[i]))))
      return what.str() + "[" + std::to_string(i) + "] is " +
             std::to_string(found[i]) + ", wanted " + std::to_string(wanted[i]);
  return "";
}

std::string mlir::zero::differenceOf(const RunResult &found,
                                     const RunResult &wanted) {
  std::string difference = compareValues(found.losses, wanted.losses, "loss");
  for (const auto &entry : wanted.parameters) {
    if (!difference.empty())
      break;
    const auto same = found.parameters.find(entry.first());
    difference = same == found.parameters.end()
                     ? (entry.first() + " is missing").str()
                     : compareValues(same->second, entry.second, entry.first());
  }
  return difference;
}
