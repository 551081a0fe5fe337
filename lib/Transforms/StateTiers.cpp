//===- StateTiers.cpp - what is not on the device -------------------------===//

#include "StateTiers.h"

#include "zero/Dialect/Zero/PartitionTable.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zero;

/// Where a partition's states leave the host: at the first segment boundary
/// that has the asked part of its elements before it.
static int64_t findOffloadedEnd(PartitionOp partition, OffloadAttr offload) {
  const double wanted =
      offload.getRatio() * static_cast<double>(partition.getFlatElements());
  for (int64_t boundary : partition.getSegments())
    if (static_cast<double>(boundary) >= wanted)
      return boundary;
  return partition.getFlatElements();
}

namespace {
/// Elements of a partition, and where their states are.
struct TierRange {
  int64_t begin, end;
  MemoryTier tier;
};
} // namespace

/// Bytes of the largest of a rank's states of [begin, end).
static int64_t countLargestBytes(PartitionOp partition, int64_t begin,
                                 int64_t end) {
  int64_t width = 0;
  for (StateAttr state : partition.getStateRange())
    width = std::max(width, elementBytes(state.getType()));
  return partition.getOwnedElements(begin, end) * width;
}

/// What is not on the device, and what is: sub-groups in files are ranges of
/// their own, so that each is read from one place.
static SmallVector<TierRange> listRanges(PartitionOp partition,
                                         OffloadAttr offload) {
  const int64_t end = findOffloadedEnd(partition, offload);
  SmallVector<TierRange> ranges;
  if (FilesAttr files = offload.getFiles()) {
    for (auto [first, last] :
         partition.getSubGroups(0, end, offload.getSubGroupSize())) {
      if (countLargestBytes(partition, first, last) >= files.getLeastBytes())
        ranges.push_back({first, last, MemoryTier::File});
      else if (ranges.empty() || ranges.back().tier == MemoryTier::File)
        ranges.push_back({first, last, MemoryTier::Host});
      else
        ranges.back().end = last;
    }
  }
  if (ranges.empty())
    ranges.push_back({0, end, MemoryTier::Host});
  if (end != partition.getFlatElements())
    ranges.push_back({end, partition.getFlatElements(), MemoryTier::Device});
  return ranges;
}

ArrayAttr mlir::zero::chooseTiers(PartitionOp partition,
                                  PlanningAttr planning) {
  MLIRContext *context = partition.getContext();
  SmallVector<StateRangeAttr> offloaded;
  if (OffloadAttr offload = planning.getOffload())
    for (auto [begin, end, tier] : listRanges(partition, offload)) {
      bool isAll = begin == 0 && end == partition.getFlatElements();
      offloaded.push_back(StateRangeAttr::get(context, begin, isAll ? -1 : end,
                                              tier, AtAttr()));
    }
  SmallVector<Attribute> placed;
  for (StateAttr state : partition.getStateRange())
    placed.push_back(
        offloaded.empty()
            ? StateAttr::get(context, state.getName(), state.getType(),
                             planning.getStateTier(state.getName()))
            : StateAttr::get(context, state.getName(), state.getType(),
                             offloaded));
  return ArrayAttr::get(context, placed);
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

MemoryTier ParameterTiers::choose(ParameterOp parameter, Type type,
                                  QuantizationAttr quantization) {
  if (!offload || !offload.getParameters())
    return MemoryTier::Device;
  ParameterFilesAttr files = offload.getParameterFiles();
  const int64_t slice = llvm::divideCeil(parameter.getElements(), slices);
  const int64_t bytes = quantization ? quantization.getPackedBytes(slice)
                                     : slice * elementBytes(type);
  if (!files || bytes < offload.getFiles().getLeastBytes())
    return MemoryTier::Host;
  if (slice <= files.getInHost() - kept) {
    kept += slice;
    return MemoryTier::Host;
  }
  if (slice <= files.getBufferSize())
    return MemoryTier::File;
  tooLarge.push_back(parameter.getSymNameAttr());
  return MemoryTier::Host;
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

/// Where slices are too large for the buffers that files are read to.
static void remarkOnTooLarge(ModuleOp module, StepOp step, OffloadAttr offload,
                             ArrayRef<StringAttr> tooLarge) {
  constexpr size_t kMost = 8;
  const PartitionTable partitions(module);
  int64_t bytes = 0;
  for (StringAttr name : tooLarge) {
    auto [begin, end] = partitions.getSegmentsOf(name);
    bytes += partitions.getPartition(name).getParameterBytes(begin, end);
  }
  InFlightDiagnostic remark =
      emitRemark(step.getLoc(), "stays in host memory: ");
  for (size_t i = 0; i < std::min(kMost, tooLarge.size()); ++i)
    remark << (i ? ", @" : "@") << tooLarge[i].getValue();
  if (tooLarge.size() > kMost)
    remark << " and " << tooLarge.size() - kMost << " more";
  remark << ", " << bytes << " bytes of a rank: slices of more than "
         << offload.getParameterFiles().getBufferSize()
         << " elements, those of a buffer (buffer_size of offload_param), are "
            "not kept in files";
}

/// Where parameters are to be in files and all stay in host memory.
static void remarkOnParameters(ModuleOp module, StepOp step,
                               OffloadAttr offload,
                               ArrayRef<StringAttr> tooLarge) {
  if (!tooLarge.empty())
    remarkOnTooLarge(module, step, offload, tooLarge);
  if (!offload.getParameterFiles() || !tooLarge.empty() ||
      llvm::any_of(module.getOps<PartitionOp>(), [](PartitionOp partition) {
        return partition.hasParametersInFile();
      }))
    return;
  emitRemark(step.getLoc(), "no parameter is kept in files: each has slices of "
                            "less than ")
      << offload.getFiles().getLeastBytes()
      << " bytes (zero.offload_nvme_min_bytes), or is among the "
      << offload.getParameterFiles().getInHost()
      << " elements of a rank that stay in host memory (max_in_cpu of "
         "offload_param)";
}

void mlir::zero::remarkOnFiles(ModuleOp module, StepOp step,
                               ArrayRef<StringAttr> tooLarge) {
  OffloadAttr offload = step.getTraining()->getPlanning().getOffload();
  if (!offload || !offload.getFiles())
    return;
  remarkOnParameters(module, step, offload, tooLarge);
  int64_t largest = 0;
  for (PartitionOp partition : module.getOps<PartitionOp>()) {
    if (!partition.isTrainable())
      continue;
    int64_t end = findOffloadedEnd(partition, offload);
    for (auto [first, last] :
         partition.getSubGroups(0, end, offload.getSubGroupSize()))
      largest = std::max(largest, countLargestBytes(partition, first, last));
  }
  if (largest == 0)
    emitRemark(step.getLoc(), "no state is kept in files: the optimizer has "
                              "none");
  else if (largest < offload.getFiles().getLeastBytes())
    emitRemark(step.getLoc(), "no state is kept in files: the largest of a "
                              "sub-group has ")
        << largest << " bytes, and those below "
        << offload.getFiles().getLeastBytes()
        << " stay in host memory (zero.offload_nvme_min_bytes)";
}
