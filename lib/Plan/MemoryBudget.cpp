//===- MemoryBudget.cpp - what a plan may need ----------------------------===//

#include "zero/Plan/MemoryBudget.h"

#include "program/ByteCount.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::zero;

FailureOr<int64_t>
mlir::zero::readBudget(StringRef option, StringRef text,
                       function_ref<InFlightDiagnostic()> emitError) {
  uint64_t bytes = 0;
  if (text.empty())
    return 0;
  if (zrt::readByteCount(text.trim().str(), bytes).empty() &&
      bytes <= uint64_t(1) << 62) // no arena is larger
    return static_cast<int64_t>(bytes);
  return emitError() << option << " '" << text
                     << "' is no number of bytes above 0, such as 512MiB; "
                        "units are B, KiB, MiB, GiB and TiB";
}

std::string mlir::zero::describeBytes(int64_t bytes) {
  std::string text = std::to_string(bytes) + " bytes";
  if (bytes >= 1024)
    text += " (" + zrt::formatBytes(bytes) + ")";
  return text;
}

/// Writes what fills an arena, one line each, the largest first.
static void printLines(llvm::raw_ostream &os, const ArenaSummary &arena) {
  constexpr size_t kLines = 12;
  ArrayRef<MemoryLine> lines = arena.lines;
  for (const MemoryLine &line : lines.take_front(kLines))
    os << "\n    " << line.bytes << " bytes " << line.name;
  if (lines.size() <= kLines)
    return;
  int64_t rest = 0;
  for (const MemoryLine &line : lines.drop_front(kLines))
    rest += line.bytes;
  os << "\n    " << rest << " bytes in " << lines.size() - kLines << " more";
}

static void printArena(llvm::raw_ostream &os, const ArenaSummary &arena,
                       int64_t bound) {
  os << arena.space.describe() << ": " << describeBytes(arena.bytes);
  // The bound counts every buffer with its alignment, an arena ends with the
  // last one's bytes.
  bound = std::min(bound, arena.bytes);
  if (bound > 0)
    os << ", lower bound " << bound << ", ratio "
       << llvm::format("%.4f", double(arena.bytes) / bound);
  if (!arena.peak.empty())
    os << ", fullest in " << arena.peak;
  printLines(os, arena);
}

LogicalResult mlir::zero::checkMemoryBudget(StepOp step,
                                            const PlanSummary &summary,
                                            MemoryTier tier, int64_t budget) {
  bool isHost = tier == MemoryTier::Host;
  int64_t total = summary.totalBytes(tier);
  if (total <= budget)
    return success();
  InFlightDiagnostic error =
      emitError(step.getLoc())
      << "'zero.step' op needs " << describeBytes(total)
      << (isHost ? " of host memory" : "")
      << " on each rank, which exceeds the " << (isHost ? "host " : "")
      << "memory budget of " << describeBytes(budget) << " by "
      << describeBytes(total - budget)
      << (isHost ? "; more ranks, a smaller offload_optimizer.ratio or "
                   "sub_group_size need less"
                 : "; more ranks, a higher stage or a smaller micro-batch "
                   "need less");
  SmallVector<const ArenaSummary *> arenas;
  for (const ArenaSummary &arena : summary.arenas)
    if (arena.bytes > 0 && arena.space.tier == tier)
      arenas.push_back(&arena);
  llvm::stable_sort(arenas, [](const ArenaSummary *a, const ArenaSummary *b) {
    return a->bytes > b->bytes;
  });
  for (const ArenaSummary *arena : arenas) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printArena(os, *arena, /*bound=*/0);
    error.attachNote() << text;
  }
  return failure();
}

void mlir::zero::remarkMemory(StepOp step, const PlanSummary &summary,
                              ArrayRef<int64_t> bounds) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const ArenaSummary &arena : summary.arenas) {
    if (arena.bytes == 0)
      continue;
    os << "\n  ";
    printArena(os, arena, bounds[arena.space.index()]);
  }
  emitRemark(step.getLoc())
      << "memory of each rank: " << describeBytes(summary.totalBytes()) << text;
}
