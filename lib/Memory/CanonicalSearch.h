//===- CanonicalSearch.h - offsets below a capacity, exactly --------------===//
//
// A depth-first search for offsets below a fixed capacity. Every packing can be
// pushed down until each buffer lies on the floor or on another one, so only
// such packings are searched, from the bottom up: each step places a buffer on
// the skyline of those already placed, in order of offset. Points of time at
// which nothing unplaced crosses cut the rest into independent parts.
//
// The idea of searching canonical packings over a skyline is that of Moffitt,
// "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine
// Learning" (ASPLOS 2023). The bounds, the order and the restarts are our own.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_MEMORY_CANONICALSEARCH_H
#define ZERO_LIB_MEMORY_CANONICALSEARCH_H

#include "zero/Memory/Allocation.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <tuple>
#include <utility>
#include <vector>

namespace mlir::zero {

/// What a search may cost. Work is counted in steps that take a few
/// nanoseconds each, so that equal limits give equal results on any machine.
/// Seconds, of this thread's time on a core, are for those who prefer an answer
/// to repeatability. 0 is no limit, of either.
struct SearchLimit {
  int64_t work = 0;
  double seconds = 0;
};

/// Searches packings of buffers with one capacity after another.
class CanonicalSearch {
public:
  enum class Outcome { Found, Impossible, Unknown };

  /// `sizes` are the buffers' bytes, rounded up to the alignment; none is 0.
  CanonicalSearch(llvm::ArrayRef<Lifetime> buffers,
                  llvm::ArrayRef<int64_t> sizes);

  /// Looks for offsets with which all buffers end at `capacity` or below.
  /// Restarts with other orders of the buffers until a packing is found, there
  /// is proof that none exists, or the limit is reached.
  Outcome solve(int64_t capacity, SearchLimit limit);

  /// The packing that was found, by buffer.
  llvm::ArrayRef<int64_t> offsets() const { return offset; }
  /// Work of all calls of `solve`.
  int64_t work() const { return workDone; }

private:
  struct Item {
    /// First and last clique that the buffer belongs to, and its bytes.
    int first, last;
    int64_t size;
    int64_t duration;
  };
  /// The (offset, rank) of the latest placement: later ones are above.
  struct Front {
    int64_t offset;
    int rank;
  };
  using Part = std::vector<int>;
  /// (skyline, rank, item): what is tried first is least.
  using Candidate = std::tuple<int64_t, int, int>;

  void findCliques(llvm::ArrayRef<Lifetime> buffers);
  void findConflicts();
  void rankBy(llvm::StringRef keys);
  double keyOf(int item, char key) const;
  Outcome attempt();

  bool searchParts(const Part &part, int without, Front front);
  bool searchPart(const Part &part, Front front, int64_t lowestTop);
  bool placeAndSearch(const Part &part, int item);
  /// Lower bounds on the offsets of `part`, or failure where a clique cannot
  /// end below the capacity. Sets `lowestTop`, below which the next buffer
  /// must begin.
  bool bound(const Part &part, Front front, int64_t &lowestTop);
  bool boundBlocked(const Part &part, int firstClique, int lastClique);
  void findLowestTops(const Part &part, int firstClique, int lastClique);
  bool boundCliques(const Part &part, int firstClique, int lastClique);
  bool isFree(int item, Front front) const;
  bool breaksSymmetry(int item) const;
  bool isExhausted();
  void blame(int item);

  std::vector<Item> items;
  int cliques = 0;
  std::vector<int64_t> cliqueBytes;
  std::vector<std::vector<int>> conflicts;

  int64_t capacity = 0;
  double endSeconds = 0;
  int64_t workDone = 0, workAllowed = 0, nodes = 0, nodesAllowed = 0;
  bool exhausted = false, outOfTime = false;

  std::vector<int> rank;
  std::vector<int64_t> offset, skyline, bounds;
  std::vector<char> placed;
  std::vector<std::pair<int, int64_t>> trail;
  /// By clique: the lowest two tops of unplaced buffers and whose the lowest
  /// is; the bytes above a bound; how often it made the search turn back.
  std::vector<int64_t> lowest, second, above;
  std::vector<int> lowestOwner;
  std::vector<double> blames;
  std::vector<int> blocked;
  /// (-bound, item).
  std::vector<std::pair<int64_t, int>> byBound;
};

} // namespace mlir::zero

#endif // ZERO_LIB_MEMORY_CANONICALSEARCH_H
