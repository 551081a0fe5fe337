// Where the elements of a parameter are stored, and on which rank.
#ifndef ZERO_RUNTIME_STATE_PIECES_H
#define ZERO_RUNTIME_STATE_PIECES_H

#include "program/Program.h"

#include <functional>
#include <string>

namespace zrt {

/// `count` elements of a parameter from `element` of the whole on, which a rank
/// stores from element `stored` of its range on. What ranks compute with, the
/// whole or a part of it, has them from `local` on.
struct Piece {
  uint64_t element = 0;
  uint64_t count = 0;
  uint64_t stored = 0;
  uint64_t local = 0;

  /// `part` of its elements from the `begin`-th on.
  Piece from(uint64_t begin, uint64_t part) const {
    return {element + begin, part, stored + begin, local + begin};
  }
};

/// The partition of `parameter`. Throws std::runtime_error where it has none.
const Partition &partitionOf(const Program &program,
                             const Parameter &parameter);

/// Calls `body` with each piece of `parameter` that `rank` stores, in rising
/// order: one, the whole, where the state is not sharded and the parameter not
/// cut.
void forEachPiece(const Program &program, const Parameter &parameter,
                  bool sharded, int rank,
                  const std::function<void(const Piece &)> &body);

/// "[12, 7]": element `flat` of a tensor of that shape.
std::string indexText(const std::vector<int64_t> &shape, uint64_t flat);

/// Names element `stored` of a rank's range of a partition, for messages:
/// "fc1.w[12, 7]", or "padding".
std::string describeElement(const Program &program, int partition, bool sharded,
                            int rank, uint64_t stored);

} // namespace zrt

#endif // ZERO_RUNTIME_STATE_PIECES_H
