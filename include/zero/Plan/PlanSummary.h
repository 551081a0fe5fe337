//===- PlanSummary.h - what a planned schedule needs and sends ------------===//
//
// Read off a schedule after `zero-plan-memory`: memory by arena, with what
// fills it by name, and traffic by class; each beside the closed form that it
// is expected to follow. Figures are those of one rank; arenas are equally
// large on all of them.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_PLAN_PLANSUMMARY_H
#define ZERO_PLAN_PLANSUMMARY_H

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Kernels/RecomputePlan.h"

#include <optional>
#include <string>

namespace mlir::zero {

/// Part of an arena, in bytes.
struct MemoryLine {
  std::string name;
  int64_t bytes = 0;
};

/// One arena of one tier.
struct ArenaSummary {
  MemorySpace space = ArenaKind::Parameters;
  int64_t bytes = 0;
  /// Bytes by the closed form, for the states that outlive a step.
  std::optional<int64_t> formula;
  /// The contents of the arena, the largest first, padding and gaps included:
  /// the lines add up to `bytes`. A sharded parameter counts as its mean over
  /// ranks.
  SmallVector<MemoryLine> lines;
  /// For activations and communication: where in the schedule most is alive.
  std::string peak;
};

/// The volume that a collective spans. A rank sends (n-1)/n of it in a group of
/// n ranks, or twice that in an all-reduce, which counts its elements double.
struct Volume {
  int64_t elements = 0, bytes = 0;

  void add(int64_t count, int64_t elementBytes) {
    elements += count;
    bytes += count * elementBytes;
  }
};

/// Traffic of one class in one update.
struct TrafficSummary {
  std::string name;
  /// The volume of the schedule's collectives, and that of the closed form from
  /// partition tables and uses; they differ by padding.
  Volume planned, formula;
  /// The closed form in words, such as "A S".
  std::string form;
  /// The ranks of the groups in which it travels; 0: those that states are cut
  /// over.
  int64_t ranks = 0;
  /// Whether some of the traffic is quantized; elements of that part are bytes.
  bool isPacked = false;
};

/// Collectives of one kind in one update.
struct CollectiveSummary {
  std::string name;
  int64_t count = 0;
  Volume volume;
  /// As TrafficSummary::ranks.
  int64_t ranks = 0;
};

/// The bytes that a rank moves between its own memories, or works on in one of
/// them, by operations of one kind in one update.
struct TransferSummary {
  /// The operation, and what it moves over: "bus", "host memory" or "file".
  std::string name, link;
  int64_t count = 0, bytes = 0;
};

/// Elements of the parameters that a micro-batch gathers so many times.
struct GatherSummary {
  int64_t times = 0, elements = 0;
};

struct PlanSummary {
  int64_t stage = 0, ranks = 1, accumulation = 1;
  /// Ranks over which states are cut.
  int64_t slices = 1;
  /// Elements of trained parameters and of all others, of which a rank has
  /// parts where an axis cuts them; and those of the whole model.
  int64_t trained = 0, untrained = 0, ofModel = 0;
  /// In the order of MemorySpace: the device's arenas first.
  SmallVector<ArenaSummary> arenas;
  SmallVector<TrafficSummary> traffic;
  SmallVector<CollectiveSummary> collectives;
  /// Empty where nothing is offloaded.
  SmallVector<TransferSummary> transfers;
  /// Stage 3: elements of parameters by the gathers of one micro-batch.
  SmallVector<GatherSummary> gathers;
  /// Kernels of one micro-batch: all, and those that recompute.
  KernelWork work, recomputed;

  /// Bytes of all arenas of a tier.
  int64_t totalBytes(MemoryTier tier = MemoryTier::Device) const;
  /// Bytes of parameters, gradients and optimizer state on the device.
  int64_t stateBytes() const;
  const ArenaSummary &arena(MemorySpace space) const {
    return arenas[space.index()];
  }
  /// The part of `volume` that one rank sends in groups of `group` ranks,
  /// rounded up; 0: in those that states are cut over.
  int64_t sent(int64_t volume, int64_t group = 0) const {
    if (group == 0)
      group = slices;
    return (volume * (group - 1) + group - 1) / group;
  }
  /// The volume that one rank sends of all traffic, of which `volume` gives
  /// that of each class.
  int64_t
  sentInAll(llvm::function_ref<int64_t(const TrafficSummary &)> volume) const {
    int64_t cut = 0, others = 0;
    for (const TrafficSummary &part : traffic)
      if (part.ranks == 0)
        cut += volume(part);
      else
        others += sent(volume(part), part.ranks);
    return sent(cut) + others;
  }
};

/// Summarises a module whose step is planned.
PlanSummary summarizePlan(ModuleOp module);

/// "micro", "last micro", "apply": what a region of a schedule is called.
std::string describeRegion(Operation *region);

/// "file.mlir:12:8" for an operation that has such a place, else "".
std::string describePlace(Location loc);

namespace detail {
/// The parts that `summarizePlan` puts together.
void summarizeStates(ModuleOp module, PlanSummary &summary);
void summarizeBuffers(StepOp step, PlanSummary &summary);
void summarizeTraffic(ModuleOp module, PlanSummary &summary);
} // namespace detail

} // namespace mlir::zero

#endif // ZERO_PLAN_PLANSUMMARY_H
