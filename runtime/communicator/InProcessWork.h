// A collective between threads, cut into pieces that any thread can do.
#ifndef ZERO_RUNTIME_COMMUNICATOR_INPROCESSWORK_H
#define ZERO_RUNTIME_COMMUNICATOR_INPROCESSWORK_H

#include "communicator/Operation.h"

namespace zrt {

/// The addresses of all ranks for one operation. Pieces touch disjoint
/// elements, so they may be done in any order and at the same time.
class InProcessWork {
public:
  /// Makes room for operations of up to `parts` parts.
  void reserve(int ranks, size_t parts);
  /// Forgets the last operation, keeps its memory.
  void reset(int ranks);
  /// Sets what `rank` posted. `describePieces` comes after all ranks did.
  void post(int rank, const std::vector<Transfer> &parts) {
    parts_[rank] = parts;
  }
  void describePieces(Collective kind, Reduction reduction);
  uint64_t pieces() const { return firstPiece_.back(); }
  /// `worker` is the rank whose thread this is.
  void run(uint64_t piece, int worker);

private:
  void reduce(size_t part, uint64_t slice, uint64_t offset, uint64_t count,
              const void **sources);
  void copy(size_t part, uint64_t slice, uint64_t begin, uint64_t count) const;

  int ranks_ = 0;
  Collective kind_ = Collective::AllReduce;
  Reduction reduction_ = Reduction::Sum;
  std::vector<std::vector<Transfer>> parts_; ///< by rank
  std::vector<const void *> sources_;        ///< a row for each worker
  std::vector<uint64_t> firstPiece_;         ///< of each part, then the total
};

} // namespace zrt

#endif // ZERO_RUNTIME_COMMUNICATOR_INPROCESSWORK_H
