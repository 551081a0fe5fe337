//===- LineBuffers.h - what lies where, and how long ----------------------===//
#ifndef ZERO_MEMORY_LINEBUFFERS_H
#define ZERO_MEMORY_LINEBUFFERS_H

#include "zero/Analysis/Handles.h"
#include "zero/Dialect/Zero/Zero.h"

#include <string>

namespace mlir::zero {

/// A place that an operation of a planned schedule fills, with the positions of
/// the operations between which it is alive. Where `end` is before `begin`, a
/// larger buffer has taken it in.
struct PlacedBuffer {
  std::string name;
  AtAttr place;
  int64_t begin = 0, end = 0;
  /// The buffer whose place it took over, or -1.
  int64_t predecessor = -1;
};

/// The buffers of a line of time (see `getTimelines`) that have a place of
/// their own, in the order of their operations. Positions count the operations
/// of all its blocks from 0.
SmallVector<PlacedBuffer> listLineBuffers(ArrayRef<Block *> line,
                                          const Handles &handles);

} // namespace mlir::zero

#endif // ZERO_MEMORY_LINEBUFFERS_H
