//===- FlatSpace.cpp - intervals, owners and padding, drawn ---------------===//

#include "FlatSpace.h"

#include "Table.h"

#include "zero/Analysis/Schedule.h"
#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Dialect/Zero/Zero.h"

#include "program/Collective.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zero;

/// Columns of the longest bar; shorter segments are one column an element.
static constexpr int64_t kColumns = 64;
/// Segments and members that are drawn; the rest are summed up in a line.
static constexpr size_t kMostSegments = 24;
static constexpr llvm::StringLiteral kMemberMarks =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
static constexpr llvm::StringLiteral kRankMarks =
    "0123456789abcdefghijklmnopqrstuvwxyz";

namespace {

/// A member's elements inside one segment, in flat elements.
struct Piece {
  StringRef name;
  int64_t begin, end;
};

class Drawing {
public:
  explicit Drawing(PartitionOp partition);
  void print();

private:
  void printTitle();
  void printSegment(size_t index);
  void printOwners(int64_t begin, int64_t end);
  void printBars(int64_t begin, int64_t end, ArrayRef<Piece> pieces);
  SmallVector<Piece> piecesOf(int64_t begin, int64_t end);
  /// Elements of [begin, end) that no member has.
  static int64_t paddingOf(int64_t begin, int64_t end, ArrayRef<Piece> pieces);

  PartitionOp partition;
  ArrayRef<int64_t> segments;
  SmallVector<MemberAttr> members;
  int64_t elementsAColumn = 1;
};

} // namespace

static std::string range(int64_t begin, int64_t end) {
  return "[" + formatCount(begin) + " to " + formatCount(end) + ")";
}

Drawing::Drawing(PartitionOp partition)
    : partition(partition), segments(partition.getSegments()),
      members(llvm::to_vector(partition.getMemberRange())) {
  int64_t largest = 0;
  for (size_t i = 1; i < segments.size(); ++i)
    largest = std::max(largest, segments[i] - segments[i - 1]);
  elementsAColumn = std::max<int64_t>(1, llvm::divideCeil(largest, kColumns));
}

SmallVector<Piece> Drawing::piecesOf(int64_t begin, int64_t end) {
  SmallVector<Piece> pieces;
  auto *first = llvm::partition_point(members, [&](MemberAttr member) {
    return member.getOffset() + member.getSize() <= begin;
  });
  for (; first != members.end() && first->getOffset() < end; ++first) {
    int64_t from = std::max(begin, first->getOffset());
    int64_t to = std::min(end, first->getOffset() + first->getSize());
    if (from < to)
      pieces.push_back({first->getParameter().getValue(), from, to});
  }
  return pieces;
}

int64_t Drawing::paddingOf(int64_t begin, int64_t end, ArrayRef<Piece> pieces) {
  int64_t padding = end - begin;
  for (const Piece &piece : pieces)
    padding -= piece.end - piece.begin;
  return padding;
}

void Drawing::printTitle() {
  int64_t elements = 0;
  for (MemberAttr member : members)
    elements += member.getSize();
  llvm::outs() << "@" << partition.getSymName() << " "
               << stringifyLayoutKind(partition.getLayout()) << " over "
               << plural(partition.getSlices(), "rank") << ", stage "
               << partition.getStage() << ", " << partition.getComputeType();
  if (auto quantized = partition.getQuantized())
    llvm::outs() << " stored in " << quantized->getBits() << " bits, blocks of "
                 << formatCount(quantized->getBlock());
  llvm::outs() << ": " << formatCount(elements) << " elements of "
               << plural(members.size(), "parameter") << " and "
               << formatCount(partition.getFlatElements() - elements)
               << " of padding in " << plural(segments.size() - 1, "segment")
               << "\n";
  SmallVector<StringRef> sliced;
  if (partition.hasShardedParameters())
    sliced.push_back("parameters");
  if (partition.isTrainable() && partition.hasShardedGradients())
    sliced.push_back("gradients");
  if (partition.isTrainable() && partition.hasShardedOptimizer())
    sliced.push_back("optimizer state");
  if (sliced.empty())
    llvm::outs() << "every rank holds all of it\n";
  else
    llvm::outs() << "a rank holds its slice of " << llvm::join(sliced, ", ")
                 << "; one column is " << plural(elementsAColumn, "element")
                 << ", '.' is padding\n";
}

void Drawing::printOwners(int64_t begin, int64_t end) {
  int64_t ranks = partition.getSlices();
  if (partition.getLayout() == LayoutKind::Whole)
    return;
  int64_t slice = (end - begin) / ranks;
  llvm::outs() << ", " << plural(ranks, "slice") << " of "
               << formatCount(slice);
}

void Drawing::printBars(int64_t begin, int64_t end, ArrayRef<Piece> pieces) {
  int64_t width = llvm::divideCeil(end - begin, elementsAColumn);
  int64_t ranks = partition.getSlices(), slice = (end - begin) / ranks;
  std::string names(width, '.'), owners(width, ' ');
  size_t current = 0;
  for (int64_t column = 0; column < width; ++column) {
    // What a column stands for is what its middle element belongs to.
    int64_t middle = std::min(end - 1, begin + column * elementsAColumn +
                                           elementsAColumn / 2);
    while (current < pieces.size() && pieces[current].end <= middle)
      ++current;
    if (current < pieces.size() && pieces[current].begin <= middle)
      names[column] =
          current < kMemberMarks.size() ? kMemberMarks[current] : '+';
    if (slice > 0)
      owners[column] = kRankMarks[std::min<int64_t>((middle - begin) / slice,
                                                    kRankMarks.size() - 1)];
  }
  llvm::outs() << "  members |" << names << "|\n";
  if (partition.getLayout() == LayoutKind::Whole)
    return;
  if (ranks <= static_cast<int64_t>(kRankMarks.size()) && ranks <= width)
    llvm::outs() << "  owners  |" << owners << "|\n";
  else
    llvm::outs() << "  owners  ranks 0 to " << ranks - 1
                 << " from left to right\n";
}

void Drawing::printSegment(size_t index) {
  int64_t begin = segments[index], end = segments[index + 1];
  SmallVector<Piece> pieces = piecesOf(begin, end);
  llvm::outs() << "segment " << index << " " << range(begin, end);
  printOwners(begin, end);
  int64_t padding = paddingOf(begin, end, pieces);
  llvm::outs() << ", padding " << formatCount(padding) << "\n";
  printBars(begin, end, pieces);
  Table names;
  for (auto [number, piece] : llvm::enumerate(pieces)) {
    if (number == kMostSegments) {
      names.add(
          {"  " + std::to_string(pieces.size() - number) + " more parameters"});
      break;
    }
    names.add(
        {"  " + std::string(1, kMemberMarks[number]) + " @" + piece.name.str(),
         range(piece.begin, piece.end)});
  }
  names.print(llvm::outs());
}

void Drawing::print() {
  printTitle();
  size_t drawn = 0, left = 0;
  int64_t elements = 0, padding = 0;
  for (size_t index = 0; index + 1 < segments.size(); ++index) {
    int64_t begin = segments[index], end = segments[index + 1];
    if (begin == end)
      continue;
    if (drawn < kMostSegments) {
      printSegment(index);
      ++drawn;
      continue;
    }
    ++left;
    elements += end - begin;
    padding += paddingOf(begin, end, piecesOf(begin, end));
  }
  if (left)
    llvm::outs() << left << " more segments: " << formatCount(elements)
                 << " elements, " << formatCount(padding) << " of padding\n";
}

/// The elements of each reduction of an update, once, by partition.
static DenseMap<StringAttr, SmallVector<int64_t>> findBuckets(ModuleOp module) {
  StepOp step = *module.getOps<StepOp>().begin();
  PartitionTable partitions(module);
  DenseMap<StringAttr, SmallVector<int64_t>> buckets;
  step.walk([&](CollectiveOpInterface op) {
    // Micro-batches before the last one have the same.
    Operation *region = op->getParentOp();
    if (!isReduction(op) || isPartialReduction(op) ||
        (isa<MicroOp>(region) && region != step.getLastMicro()))
      return;
    auto ranges = op.getPartitionRanges(partitions);
    if (ranges.empty())
      return;
    int64_t elements = op.getElementsSent(partitions);
    if (op.getKind() == zrt::Collective::AllReduce)
      elements /= 2;                               // it sends each twice
    if (op.getKind() == zrt::Collective::AllToAll) // it sends bytes
      elements = ranges.front().end - ranges.front().begin;
    buckets[ranges.front().partition.getAttr()].push_back(elements);
  });
  return buckets;
}

static void printBuckets(ArrayRef<int64_t> buckets, int64_t size) {
  if (buckets.empty())
    return;
  int64_t all = 0;
  for (int64_t bucket : buckets)
    all += bucket;
  auto share = [&](double elements) {
    return llvm::format("%.1f %%", 100 * elements / size);
  };
  llvm::outs() << plural(buckets.size(), "bucket") << " of at most "
               << formatCount(size) << " elements: "
               << share(static_cast<double>(all) / buckets.size())
               << " full on average, the emptiest "
               << share(*llvm::min_element(buckets)) << ", the fullest "
               << share(*llvm::max_element(buckets)) << "\n";
}

void mlir::zero::printFlatSpace(ModuleOp module) {
  auto buckets = findBuckets(module);
  StepOp step = *module.getOps<StepOp>().begin();
  int64_t size = step.getTraining()->getPlanning().getReduceBucketSize();
  bool isFirst = true;
  for (PartitionOp partition : module.getOps<PartitionOp>()) {
    if (!isFirst)
      llvm::outs() << "\n";
    isFirst = false;
    Drawing(partition).print();
    printBuckets(buckets.lookup(partition.getSymNameAttr()), size);
  }
}
