//===- CostModel.cpp - how long operations take ---------------------------===//

#include "zero/Cost/CostModel.h"
#include "zero/Analysis/Mesh.h"
#include "zero/Analysis/Views.h"
#include "zero/Interfaces/Interfaces.h"
#include "zero/Kernels/KernelSpecs.h"
#include "zero/Memory/StatePlan.h"

#include "program/Control.h"
#include "program/KernelKey.h"
#include "program/KernelSchema.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace mlir::zero;

#define DEBUG_TYPE "zero-cost"
ALWAYS_ENABLED_STATISTIC(numCosts, "Costs of operations that were asked for");

int64_t mlir::zero::workspaceOn(const Machine &machine,
                                const zrt::Program &program) {
  return machine.hasDevices() ? static_cast<int64_t>(zrt::workspaceOf(program))
                              : 0;
}

namespace {

/// Something measured: how much there was to do and how long it took.
struct Point {
  double work = 0, seconds = 0;
};

/// What was measured of one kind, by the number of ranks that did it.
using Curves = std::map<int64_t, SmallVector<Point>>;

/// The curve of the rank count that is nearest to `ranks`, by ratio.
const std::pair<const int64_t, SmallVector<Point>> &
nearest(const Curves &curves, int64_t ranks) {
  auto distance = [&](int64_t other) {
    return std::abs(std::log(static_cast<double>(other) / ranks));
  };
  auto best = curves.begin();
  for (auto it = curves.begin(); it != curves.end(); ++it)
    if (distance(it->first) < distance(best->first))
      best = it;
  return *best;
}

/// Straight lines between the points, which are sorted by work; from `atZero`
/// to the first; beyond the last as many times it as the work is.
double interpolate(ArrayRef<Point> points, double work, double atZero) {
  const Point *after = llvm::find_if(
      points, [&](const Point &point) { return point.work >= work; });
  if (after == points.end()) {
    const Point &last = points.back();
    return last.work > 0 ? last.seconds * work / last.work : last.seconds;
  }
  Point before{0, std::min(atZero, after->seconds)};
  if (after != points.begin())
    before = after[-1];
  if (after->work <= before.work)
    return after->seconds;
  double part = (work - before.work) / (after->work - before.work);
  return before.seconds + part * (after->seconds - before.seconds);
}

void sortByWork(Curves &curves) {
  for (auto &[ranks, points] : curves)
    llvm::sort(points, [](const Point &left, const Point &right) {
      return std::tie(left.work, left.seconds) <
             std::tie(right.work, right.seconds);
    });
}

} // namespace

struct CostModel::Tables {
  /// Of the module whose operations are asked for.
  SymbolTableCollection symbols;
  std::optional<PartitionTable> partitions;
  /// Seconds of a kernel by key, and curves over its roofline by family.
  llvm::StringMap<std::map<int64_t, double>> kernels;
  llvm::StringMap<Curves> families;
  /// Curves over bytes by kind and element type.
  std::map<std::pair<zrt::Collective, zrt::DataType>, Curves> collectives;
};

static GroupSpan spanOfAll(const Machine &machine, int64_t ranks) {
  return {ranks, machine.localRanks(ranks)};
}

CostModel::CostModel(const Machine &machine, int64_t ranks)
    : CostModel(machine, spanOfAll(machine, ranks), spanOfAll(machine, ranks),
                AxesAttr()) {}

CostModel::CostModel(const Machine &machine, AxesAttr mesh, AxesAttr cut)
    : CostModel(machine, spanOfAll(machine, mesh.getSize()),
                spanOf(machine, mesh, cut), mesh) {}

CostModel::CostModel(const Machine &machine, GroupSpan all, GroupSpan cut,
                     AxesAttr mesh)
    : machine(machine), ranks(all.ranks), all(all), cut(cut), mesh(mesh),
      tables(std::make_unique<Tables>()) {
  for (const MeasuredKernel &kernel : machine.kernels) {
    tables->kernels[kernel.key][kernel.ranks] = kernel.seconds;
    double work =
        machine.roofline(kernel.flops, kernel.bytes, kernel.type, kernel.ranks);
    tables->families[kernel.family][kernel.ranks].push_back(
        {work, kernel.seconds});
  }
  for (auto &family : tables->families)
    sortByWork(family.second);
  for (const MeasuredCollective &collective : machine.collectives)
    tables->collectives[{collective.kind, collective.type}][collective.ranks]
        .push_back({collective.bytes, collective.seconds});
  for (auto &[key, curves] : tables->collectives)
    sortByWork(curves);
}

CostModel::~CostModel() = default;

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

double CostModel::kernelSeconds(const zrt::KernelSpec &spec) const {
  int64_t local = machine.localRanks(ranks);
  zrt::DataType type = computeTypeOf(spec);
  // Only one rank adds what it owns; on average that is a part of the runs.
  double part = spec.has("owner") ? 1.0 / cut.ranks : 1;
  // Cores that are shared by fewer ranks in the measurement are more a rank.
  auto scale = [&](int64_t measured) {
    return machine.cores > 0
               ? machine.coresOfRank(measured) / machine.coresOfRank(local)
               : 1.0;
  };
  auto exact = tables->kernels.find(kernelKeyOf(spec));
  if (exact != tables->kernels.end())
    if (auto same = exact->second.find(local); same != exact->second.end())
      return part * same->second;
  auto family = tables->families.find(familyOf(spec));
  if (family != tables->families.end()) {
    const auto &[measured, points] = nearest(family->second, local);
    double work = machine.roofline(spec.flops, spec.bytes, type, measured);
    return part * scale(measured) *
           interpolate(points, work, machine.kernelOverhead);
  }
  return part * (machine.kernelOverhead + machine.roofline(spec, local));
}

double CostModel::kernelSeconds(const zrt::KernelSpec &spec,
                                StreamKind stream) const {
  bool isBus = stream == StreamKind::Copy || stream == StreamKind::Upload;
  bool isFile = stream == StreamKind::Read || stream == StreamKind::Write;
  bool isCopy = isBus || isFile;
  double rate = isBus    ? machine.busBandwidth
                : isFile ? (machine.fileBandwidth > 0 ? machine.fileBandwidth
                                                      : machine.hostBandwidth)
                : stream == StreamKind::Host ? machine.hostBandwidth
                                             : 0;
  if (rate == 0)
    return kernelSeconds(spec);
  // A copy's bytes are read on one side and written on the other.
  return machine.kernelOverhead + spec.bytes / (isCopy ? 2 : 1) / rate;
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

/// Bytes that all ranks together read and write for a collective in one
/// memory, for each byte of the whole buffer.
static double memoryTraffic(zrt::Collective kind, int64_t ranks) {
  if (kind == zrt::Collective::AllReduce)
    return 2.0 * ranks;
  return zrt::isReducing(kind) ? ranks + 1.0 : 2.0 * (ranks - 1);
}

/// A ring over all ranks, the slower of its two kinds of link at each step.
static double ringSeconds(const LinkProtocol &protocol, zrt::Collective kind,
                          GroupSpan group, double bytes) {
  double turns = kind == zrt::Collective::AllReduce ? 2 : 1;
  int64_t ranks = group.ranks;
  int64_t nodes = llvm::divideCeil(ranks, group.local);
  double far = nodes - 1, near = ranks - nodes;
  double rate = nodes > 1 ? std::min(protocol.bandwidth, protocol.farBandwidth)
                          : protocol.bandwidth;
  return protocol.latency +
         turns * (near * protocol.step + far * protocol.farStep +
                  bytes * (ranks - 1) / ranks / rate);
}

/// An all-reduce over a tree of nodes, each a chain: up and down again.
static double treeSeconds(const LinkProtocol &protocol, GroupSpan group,
                          double bytes) {
  // What NCCL's tuner takes off for trees.
  constexpr double kTreeEfficiency = 0.92;
  int64_t nodes = llvm::divideCeil(group.ranks, group.local);
  double rate = std::min(protocol.bandwidth, protocol.farBandwidth);
  return protocol.latency +
         2 * ((group.local - 1) * protocol.step +
              llvm::Log2_64_Ceil(nodes) * protocol.farStep) +
         2 * bytes / (rate * kTreeEfficiency);
}

double CostModel::collectiveSeconds(zrt::Collective kind, double bytes,
                                    zrt::DataType type, GroupSpan group) const {
  const int64_t ranks = group.ranks;
  if (ranks == 1)
    return 0;
  // Between two neighbours, which are on one node where others of them are.
  if (zrt::isBetweenTwo(kind))
    return collectiveSeconds(zrt::Collective::Broadcast, bytes, type,
                             {2, std::min<int64_t>(group.local, 2)});
  auto found = tables->collectives.find({kind, type});
  if (found != tables->collectives.end()) {
    const auto &[measured, points] = nearest(found->second, ranks);
    double seconds = interpolate(points, bytes, points.front().seconds);
    return seconds * memoryTraffic(kind, ranks) / memoryTraffic(kind, measured);
  }
  double best = std::numeric_limits<double>::infinity();
  for (const LinkProtocol &protocol : machine.protocols) {
    if (machine.worksAtWait) {
      best =
          std::min(best, protocol.latency + protocol.step * ranks +
                             bytes * memoryTraffic(kind, ranks) /
                                 (protocol.bandwidth * machine.linkEfficiency));
      continue;
    }
    // A rate that is reached in part carries as if it had more to carry.
    double carried = bytes / machine.linkEfficiency;
    best = std::min(best, ringSeconds(protocol, kind, group, carried));
    if (kind == zrt::Collective::AllReduce && group.local < ranks)
      best = std::min(best, treeSeconds(protocol, group, carried));
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

namespace {

/// What an operation is to the cost model, where it is no kernel of its own.
class OperationCost {
public:
  OperationCost(const CostModel &model, const PartitionTable &partitions)
      : model(model), partitions(partitions) {}

  double cost(Operation *op) const;

private:
  double collective(CollectiveOpInterface op) const;
  /// Between two stages of a pipeline.
  double transfer(AsyncOpInterface op) const;
  double accumulate(AccumulateOp op) const;
  double statistics(GradStatsOp op) const;
  double update(PartitionOp partition, int64_t elements,
                StreamKind stream) const;
  double flat(StringRef name, ArrayRef<FlatRange> ranges,
              zrt::KernelSpec attributes = {}) const {
    return model.kernelSeconds(describeFlatKernel(name, ranges, attributes));
  }

  const CostModel &model;
  const PartitionTable &partitions;
};

} // namespace

double OperationCost::collective(CollectiveOpInterface op) const {
  Type type = op.getWireType(partitions);
  return type ? model.collectiveSeconds(op.getKind(), op.getBytes(partitions),
                                        *toDataType(type),
                                        model.getSpan(op.getGroup(partitions)))
              : 0;
}

double OperationCost::transfer(AsyncOpInterface op) const {
  SmallVector<AsyncBuffer> buffers = op.getBuffers(
      partitions,
      op->getParentOfType<StepOp>().getTraining().value_or(TrainingAttr()));
  return model.collectiveSeconds(zrt::Collective::Send, op.getBytes(partitions),
                                 *toDataType(buffers.front().type),
                                 model.getStages());
}

double OperationCost::accumulate(AccumulateOp op) const {
  PartitionOp partition = partitions.find(op.getPartitionAttr());
  auto tensor = cast<RankedTensorType>(op.getValue().getType());
  Type from = tensor.getElementType();
  auto step = op->getParentOfType<StepOp>();
  if (step && step.getTraining() &&
      storesDirectly(partition, from, *step.getTraining()))
    return 0;
  int64_t elements = tensor.getNumElements();
  if (op.getForm() == AccumulateForm::Owned)
    elements /= model.getCut().ranks;
  return flat("zero.accumulate",
              {{elements, from}, {elements, partition.getGradientType()}});
}

static int64_t ownedElements(PartitionOp partition) {
  return partition.getFlatElements() /
         (partition.hasShardedOptimizer() ? partition.getSlices() : 1);
}

double OperationCost::statistics(GradStatsOp op) const {
  double seconds = 0;
  for (auto symbol : op.getPartitions().getAsRange<FlatSymbolRefAttr>()) {
    PartitionOp partition = partitions.find(symbol);
    zrt::KernelSpec attributes;
    auto step = op->getParentOfType<StepOp>();
    attributes.ints["partition"] = {0}; // whose, plays no part
    attributes.ints["exact"] = {step && step.getTraining() &&
                                step.getTraining()->getDeterministic()};
    seconds += flat("zero.grad_stats",
                    {{ownedElements(partition), partition.getGradientType()}},
                    attributes);
  }
  return seconds;
}

double OperationCost::update(PartitionOp partition, int64_t elements,
                             StreamKind stream) const {
  SmallVector<FlatRange> ranges;
  for (const UpdateOperand &operand : partition.getUpdateOperands())
    ranges.push_back({elements, operand.type});
  auto [name, attributes] = describeUpdate(partition);
  return model.kernelSeconds(describeFlatKernel(name, ranges, attributes),
                             stream);
}

double OperationCost::cost(Operation *op) const {
  return llvm::TypeSwitch<Operation *, double>(op)
      .Case([&](CollectiveOpInterface op) { return collective(op); })
      .Case([&](AccumulateOp op) { return accumulate(op); })
      .Case([&](GradStatsOp op) { return statistics(op); })
      .Case<SecondarySliceOp, SliceValueOp>([&](auto op) {
        auto slice = cast<RankedTensorType>(op.getType());
        FlatRange range = {slice.getNumElements(), slice.getElementType()};
        return flat("zero.copy", {range, range});
      })
      .Case([&](UpdateOp op) {
        PartitionOp partition = partitions.find(op.getPartitionAttr());
        auto [begin, end] = op.getRange(partition);
        return update(partition, partition.getOwnedElements(begin, end),
                      StreamKind::Compute);
      })
      .Case([&](UpdateOnHostOp op) {
        PartitionOp partition = partitions.find(op.getPartitionAttr());
        return update(partition,
                      partition.getOwnedElements(op.getBegin(), op.getEnd()),
                      op.getStream());
      })
      .Case<StartSendOp, StartReceiveOp, TieGradientsOp>(
          [&](auto op) { return transfer(op); })
      .Case([&](AsyncOpInterface op) {
        assert(
            (op.getLink() == LinkKind::Bus || op.getLink() == LinkKind::File) &&
            "other links are named above");
        // In bytes, whatever their type.
        Type byte = IntegerType::get(op->getContext(), 8);
        int64_t bytes = op.getBytes(partitions);
        return model.kernelSeconds(
            describeFlatKernel("zero.copy", {{bytes, byte}, {bytes, byte}}),
            op.getStream());
      })
      .Default([](Operation *) { return 0.0; });
}

/// An operation on elements before it is outlined: part of a kernel to come.
static double elementwiseSeconds(Operation *op, const CostModel &model) {
  auto result = op->getNumResults() == 1
                    ? dyn_cast<RankedTensorType>(op->getResult(0).getType())
                    : nullptr;
  if (!result || !result.hasStaticShape() || op->getNumOperands() == 0 ||
      op->getNumRegions() > 0)
    return 0;
  std::optional<zrt::DataType> type = toDataType(result.getElementType());
  if (!type)
    return 0;
  const Machine &machine = model.getMachine();
  return machine.roofline(countElementOperations(op), tensorBytes(op), *type,
                          machine.localRanks(model.getRanks()));
}

double CostModel::costOf(Operation *op) const {
  ++numCosts;
  if (getView(op) || isa<LoadOp, WaitOp, FreeOp>(op))
    return 0;
  if (std::optional<zrt::KernelSpec> spec =
          describeKernel(op, &tables->symbols))
    return kernelSeconds(*spec);
  if (op->getName().getDialectNamespace() != ZeroDialect::getDialectNamespace())
    return elementwiseSeconds(op, *this);
  if (!tables->partitions)
    tables->partitions.emplace(op);
  return OperationCost(*this, *tables->partitions).cost(op);
}

GroupSpan CostModel::getSpan(AxesAttr group) const {
  return group && mesh ? spanOf(machine, mesh, group) : all;
}

GroupSpan CostModel::getStages() const {
  return getSpan(mesh ? mesh.getStageAxes() : AxesAttr());
}

GroupSpan mlir::zero::spanOf(const Machine &machine, AxesAttr mesh,
                             AxesAttr group) {
  GroupSpan span;
  span.ranks = group.getSize();
  if (group == mesh) {
    span.local = machine.localRanks(span.ranks);
    return span;
  }
  // Rank 0's group: the ranks whose other coordinates are 0.
  AxesAttr others = mesh.without(group);
  span.local = 0;
  for (int64_t rank = 0, end = machine.localRanks(mesh.getSize()); rank < end;
       ++rank)
    span.local += !others || mesh.getIndexIn(others, rank) == 0;
  return span;
}

FailureOr<Machine> mlir::zero::readMachine(StepOp step, StringRef name) {
  if (name.empty())
    name = step.getTraining()->getPlanning().getMachine();
  std::string error;
  FailureOr<Machine> machine = readMachine(name, error);
  if (failed(machine))
    return step.emitOpError(error), failure();
  return machine;
}

CostModel mlir::zero::makeCostModel(const Machine &machine, ModuleOp module,
                                    TrainingAttr training) {
  MeshAxes mesh = getMesh(module, training);
  return CostModel(machine, mesh.ranks, mesh.cut);
}

double mlir::zero::costOf(Operation *op, const Machine &machine) {
  auto step = op->getParentOfType<StepOp>();
  if (!step || !step.getTraining())
    return CostModel(machine, 1).costOf(op);
  return makeCostModel(machine, step->getParentOfType<ModuleOp>(),
                       *step.getTraining())
      .costOf(op);
}
