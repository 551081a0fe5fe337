//===- SplitStatistics.cpp - read gradients as their reductions end -------===//

#include "zero/Analysis/Arrivals.h"
#include "zero/Analysis/Schedule.h"
#include "zero/Transforms/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::zero {
#define GEN_PASS_DEF_SPLITSTATISTICS
#include "zero/Transforms/Passes.h.inc"
} // namespace mlir::zero

using namespace mlir;
using namespace mlir::zero;

namespace {

/// Builds the chain of `zero.grad_stats`.
class Chain {
public:
  Chain(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  void add(PartitionOp partition, int64_t begin, int64_t end) {
    names.push_back(FlatSymbolRefAttr::get(partition.getSymNameAttr()));
    ranges.append({begin, end});
  }
  /// Reads what was added, at the builder's place.
  void read() {
    if (names.empty())
      return;
    sum = GradStatsOp::create(
        builder, loc, StatsType::get(builder.getContext()),
        builder.getArrayAttr(names), builder.getDenseI64ArrayAttr(ranges), sum);
    names.clear();
    ranges.clear();
  }
  Value result() const { return sum; }

private:
  OpBuilder &builder;
  Location loc;
  SmallVector<Attribute> names;
  SmallVector<int64_t> ranges;
  Value sum;
};

struct SplitStatistics
    : public zero::impl::SplitStatisticsBase<SplitStatistics> {
  using SplitStatisticsBase::SplitStatisticsBase;
  void runOnOperation() override;
};

/// The check of one step's gradients.
class Statistics {
public:
  Statistics(ModuleOp module, StepOp step);
  void run();

private:
  void split(GradStatsOp whole);

  Block &apply;
  Handles handles;
  PartitionTable table;
  /// In the order in which `apply` waits.
  SmallVector<Arrival> arrivals;
};

} // namespace

Statistics::Statistics(ModuleOp module, StepOp step)
    : apply(step.getRegionOp<ApplyOp>().getBody().front()), handles(step),
      table(module) {}

void Statistics::split(GradStatsOp whole) {
  // What arrives where, by partition in the order of the flat space; of ranges
  // that arrive several times over, the last one counts.
  llvm::MapVector<Operation *, SmallVector<Arrival *>> byPartition;
  DenseMap<std::pair<Operation *, int64_t>, Arrival *> latest;
  for (Arrival &arrival : arrivals)
    latest[{arrival.partition, arrival.begin}] = &arrival;
  for (Arrival &arrival : arrivals)
    if (latest.lookup({arrival.partition, arrival.begin}) == &arrival)
      byPartition[arrival.partition].push_back(&arrival);

  OpBuilder builder(arrivals.front().first);
  Chain chain(builder, whole.getLoc());
  for (auto name : whole.getPartitions().getAsRange<FlatSymbolRefAttr>()) {
    PartitionOp partition = table.find(name);
    SmallVector<Arrival *> &late = byPartition[partition];
    llvm::sort(late,
               [](Arrival *a, Arrival *b) { return a->begin < b->begin; });
    int64_t begin = 0;
    for (Arrival *arrival : late) {
      if (arrival->begin > begin)
        chain.add(partition, begin, arrival->begin);
      begin = arrival->end;
    }
    if (begin < partition.getFlatElements())
      chain.add(partition, begin, partition.getFlatElements());
  }
  chain.read();
  for (Arrival &arrival : arrivals) {
    if (latest.lookup({arrival.partition, arrival.begin}) != &arrival)
      continue;
    builder.setInsertionPointAfter(arrival.last);
    chain.add(arrival.partition, arrival.begin, arrival.end);
    chain.read();
  }
  whole.getStats().replaceAllUsesWith(chain.result());
  whole.erase();
}

void Statistics::run() {
  // What replicas combine is complete only when all of it has arrived.
  if (llvm::any_of(apply, [](Operation &op) { return combinesReplicas(&op); }))
    return;
  arrivals = listReduced(apply, handles, table);
  auto statistics = apply.getOps<GradStatsOp>();
  if (arrivals.empty() || statistics.empty())
    return;
  GradStatsOp whole = *statistics.begin();
  if (!whole.getRanges() && llvm::hasSingleElement(statistics))
    split(whole);
}

void SplitStatistics::runOnOperation() {
  FailureOr<StepOp> step = getConfiguredSchedule(getOperation());
  if (failed(step))
    return signalPassFailure();
  Statistics(getOperation(), *step).run();
}
