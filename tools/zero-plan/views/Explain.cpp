//===- Explain.cpp - a parameter's whole life -----------------------------===//

#include "Explain.h"

#include "../../Output.h"
#include "ParameterLife.h"
#include "Table.h"

#include "zero/Dialect/Zero/Zero.h"
#include "zero/Memory/StatePlan.h"

using namespace mlir;
using namespace mlir::zero;

/// Owners that are listed one by one; of more, runs of equal slices are joined.
static constexpr int64_t kListedOwners = 8;
/// Segments whose owners are listed.
static constexpr int64_t kListedSegments = 4;

static std::string range(int64_t begin, int64_t end) {
  return "[" + formatCount(begin) + " to " + formatCount(end) + ")";
}

//===----------------------------------------------------------------------===//
// Partition and owners
//===----------------------------------------------------------------------===//

/// "data=2 x tensor=2"
static std::string describe(AxesAttr axes) {
  std::string text;
  for (auto [name, size] : llvm::zip_equal(axes.getNames(), axes.getSizes()))
    text +=
        (text.empty() ? "" : " x ") + name.str() + "=" + std::to_string(size);
  return text;
}

/// What a rank has of a parameter that the model is cut by.
static void printCut(ParameterOp parameter, CutAttr cut) {
  llvm::outs() << "cut over " << describe(cut.getOver()) << " in dimension "
               << cut.getDim() << " of " << parameter.getWholeType();
  if (cut.getRepeats() != 1 || cut.getPieces().size() != 1) {
    llvm::outs() << ": a rank has its part of each of the pieces ";
    llvm::interleaveComma(cut.getPieces(), llvm::outs());
    if (cut.getRepeats() != 1)
      llvm::outs() << ", " << cut.getRepeats() << " times";
  }
  llvm::outs() << "\n";
}

static void printPartition(ParameterOp parameter, PartitionOp partition,
                           MemberAttr member) {
  llvm::outs() << "@" << parameter.getSymName() << ": "
               << parameter.getTensorType() << ", "
               << formatCount(member.getSize()) << " elements, group \""
               << parameter.getGroup() << "\""
               << (parameter.getFrozen()     ? ", frozen"
                   : partition.isTrainable() ? ", trained"
                                             : ", without a gradient")
               << "\n";
  if (std::string where = describePlace(parameter.getLoc()); !where.empty())
    llvm::outs() << "declared at " << where << "\n";
  for (CutAttr cut : parameter.getCutList())
    printCut(parameter, cut);
  auto module = parameter->getParentOfType<ModuleOp>();
  if (partition.isTrainable() && !module.getOps<MeshOp>().empty())
    llvm::outs() << "gradient summed over " << describe(partition.getOver())
                 << "\n";
  llvm::outs() << "partition @" << partition.getSymName() << ", "
               << stringifyLayoutKind(partition.getLayout()) << " over "
               << plural(partition.getSlices(), "rank") << ", stage "
               << partition.getStage() << ": elements "
               << range(member.getOffset(),
                        member.getOffset() + member.getSize())
               << " of " << formatCount(partition.getFlatElements())
               << "; computes in " << partition.getComputeType();
  if (partition.isTrainable())
    llvm::outs() << ", stores gradients in " << partition.getGradientType();
  llvm::outs() << "\n";
}

/// Prints the ranks that own elements of [first, last) of one segment, as
/// elements of the parameter, which begins at `origin`.
static void printSegmentOwners(int64_t begin, int64_t slice, int64_t first,
                               int64_t last, int64_t origin) {
  int64_t from = (first - begin) / slice, to = (last - 1 - begin) / slice;
  auto one = [&](int64_t rank) {
    int64_t low = std::max(first, begin + rank * slice);
    int64_t high = std::min(last, begin + (rank + 1) * slice);
    llvm::outs() << "  rank " << rank << ": elements "
                 << range(low - origin, high - origin) << "\n";
  };
  if (to - from + 1 <= kListedOwners) {
    for (int64_t rank = from; rank <= to; ++rank)
      one(rank);
    return;
  }
  one(from);
  llvm::outs() << "  ranks " << from + 1 << " to " << to - 1 << ": "
               << formatCount(slice) << " elements each\n";
  one(to);
}

static void printOwners(PartitionOp partition, MemberAttr member) {
  if (partition.getLayout() == LayoutKind::Whole) {
    llvm::outs() << "owners: every rank, of all of it\n";
    return;
  }
  llvm::outs() << "owners of "
               << (partition.hasShardedParameters() ? "parameters, gradients "
                                                      "and optimizer state"
                   : partition.hasShardedGradients()
                       ? "gradients and optimizer state"
                       : "optimizer state")
               << ":\n";
  ArrayRef<int64_t> segments = partition.getSegments();
  int64_t begin = member.getOffset(), end = begin + member.getSize();
  int64_t listed = 0;
  for (size_t i = 1; i < segments.size(); ++i) {
    int64_t first = std::max(begin, segments[i - 1]);
    int64_t last = std::min(end, segments[i]);
    int64_t slice = (segments[i] - segments[i - 1]) / partition.getSlices();
    if (first >= last)
      continue;
    if (listed++ < kListedSegments)
      printSegmentOwners(segments[i - 1], slice, first, last, begin);
  }
  if (listed > kListedSegments)
    llvm::outs() << "  and so on in " << listed - kListedSegments
                 << " more segments\n";
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static void printPlaces(const StatePlaces &places, PartitionOp partition,
                        MemberAttr member) {
  Table table;
  auto add = [&](StringRef state, StringRef what, AtAttr place) {
    table.add(
        {("  " + state).str(), what.str(),
         (place.getSpace().describe() + "[" + Twine(place.getOffset()) + "]")
             .str(),
         formatCount(place.getBytes()) + " bytes"});
  };
  if (AtAttr whole = places.getWhole(member.getParameter().getAttr()))
    add("parameter",
        partition.hasShardedParameters() ? "resident copy" : "whole", whole);
  for (const auto &[name, place] : partition.getPlaces()) {
    bool sharded = name == "parameters"  ? partition.hasShardedParameters()
                   : name == "gradients" ? partition.hasShardedGradients()
                   : StringRef(name).starts_with("errors")
                       ? false
                       : partition.hasShardedOptimizer();
    const bool isPacked = name == "parameters" && partition.getQuantized();
    add(name,
        isPacked  ? "slices of the partition, quantized"
        : sharded ? "slice of the partition"
                  : "the whole partition",
        place);
  }
  llvm::outs() << "memory of a rank:\n";
  table.print(llvm::outs());
}

LogicalResult mlir::zero::explainParameter(ModuleOp module, StringRef name) {
  name.consume_front("@");
  auto parameter = module.lookupSymbol<ParameterOp>(name);
  StatePlaces places(module);
  PartitionOp partition;
  if (parameter)
    partition = places.getPartition(parameter.getSymNameAttr());
  if (!partition)
    return fail("found no parameter @" + name +
                "; zero-plan layout lists those of the model");
  MemberAttr member = places.getMember(parameter.getSymNameAttr());
  printPartition(parameter, partition, member);
  printOwners(partition, member);
  printPlaces(places, partition, member);
  StepOp step = *module.getOps<StepOp>().begin();
  Handles handles(step);
  for (Operation &region : step.getBody().front())
    ParameterLife(handles, partition, member).print(region);
  return success();
}
