#include "state/Pieces.h"

#include <algorithm>
#include <stdexcept>

using namespace zrt;

const Partition &zrt::partitionOf(const Program &program,
                                  const Parameter &parameter) {
  if (parameter.partition < 0 ||
      static_cast<size_t>(parameter.partition) >= program.partitions.size())
    throw std::runtime_error("parameter '" + parameter.name +
                             "' belongs to no partition, so it has no memory");
  return program.partitions[parameter.partition];
}

using PieceBody = std::function<void(const Piece &)>;

/// Calls `body` with the runs that `piece` consists of where `cut` is undone,
/// of which the rank at `index` in its group has a part: elements count `inner`
/// to an index of the dimension. All elements within one index are one run, and
/// so are neighbouring indices of a piece.
static void forEachRun(const ParameterCut &cut, uint64_t ranks, uint64_t index,
                       uint64_t inner, const Piece &piece,
                       const PieceBody &body) {
  uint64_t whole = 0; // indices of the pieces
  for (int64_t size : cut.pieces)
    whole += uint64_t(size);
  const uint64_t block = whole / ranks * inner; // of one rank, of one repeat
  if (block == 0)
    return; // the parameter has no elements
  const uint64_t end = piece.element + piece.count;
  for (uint64_t first = piece.element / block * block; first < end;
       first += block) {
    uint64_t at = first, element = first * ranks;
    for (int64_t size : cut.pieces) {
      const uint64_t part = uint64_t(size) / ranks * inner;
      const uint64_t from = std::max(piece.element, at);
      const uint64_t to = std::min(end, at + part);
      if (from < to)
        body({element + index * part + (from - at), to - from,
              piece.stored + (from - piece.element),
              piece.local + (from - piece.element)});
      at += part;
      element += uint64_t(size) * inner;
    }
  }
}

namespace {
/// From what a rank has of a parameter to the whole.
class Uncut {
public:
  Uncut(const Program &program, const Parameter &parameter, int rank,
        const PieceBody &body)
      : program(program), parameter(parameter), rank(rank), body(body),
        sizes(parameter.shape.begin(), parameter.shape.end()) {
    for (const ParameterCut &cut : parameter.cuts)
      sizes[cut.dim] = sizeOf(cut) / ranksOf(cut);
  }

  /// Undoes the cuts from `next` on, one after the other. Padding, behind all
  /// else, is in no run.
  void run(const Piece &piece, size_t next = 0) {
    if (next == parameter.cuts.size()) {
      const auto elements = uint64_t(parameter.elements());
      if (piece.element < elements)
        body({piece.element, std::min(piece.count, elements - piece.element),
              piece.stored, piece.local});
      return;
    }
    const ParameterCut &cut = parameter.cuts[next];
    uint64_t inner = 1; // elements of an index
    for (size_t dim = cut.dim + 1; dim < sizes.size(); ++dim)
      inner *= sizes[dim];
    const uint64_t part = sizes[cut.dim];
    sizes[cut.dim] = sizeOf(cut);
    forEachRun(cut, ranksOf(cut), program.mesh.indexIn(cut.group, rank), inner,
               piece, [&](const Piece &run) { this->run(run, next + 1); });
    sizes[cut.dim] = part;
  }

private:
  static uint64_t sizeOf(const ParameterCut &cut) {
    int64_t size = 0;
    for (int64_t piece : cut.pieces)
      size += piece;
    return uint64_t(size * cut.repeats);
  }
  uint64_t ranksOf(const ParameterCut &cut) const {
    return uint64_t(program.ranksOf(cut.group));
  }

  const Program &program;
  const Parameter &parameter;
  const int rank;
  const PieceBody &body;
  std::vector<uint64_t> sizes; ///< of each dimension, as far as it is undone
};
} // namespace

void zrt::forEachPiece(const Program &program, const Parameter &parameter,
                       bool sharded, int rank,
                       const std::function<void(const Piece &)> &body) {
  const Partition &partition = partitionOf(program, parameter);
  uint64_t begin = parameter.memberOffset;
  uint64_t end = begin + program.elementsOf(parameter);
  if (begin == end)
    return;
  const auto add = [&](uint64_t local, uint64_t count, uint64_t stored) {
    Uncut(program, parameter, rank, body).run({local, count, stored, local});
  };
  if (!sharded)
    return add(0, end - begin, begin);
  uint64_t owners = static_cast<uint64_t>(program.ranksOf(partition.group));
  uint64_t index =
      static_cast<uint64_t>(program.mesh.indexIn(partition.group, rank));
  for (const Segment &segment : partition.segments) {
    uint64_t slice = segment.size / owners;
    uint64_t first = segment.offset + slice * index;
    uint64_t from = std::max(begin, first);
    uint64_t to = std::min(end, first + slice);
    if (from < to)
      add(from - begin, to - from, segment.offset / owners + (from - first));
  }
}

/// "[12, 7]" of element `flat` of a tensor of `shape`.
std::string zrt::indexText(const std::vector<int64_t> &shape, uint64_t flat) {
  std::string text;
  for (size_t i = shape.size(); i-- > 0;) {
    uint64_t size = static_cast<uint64_t>(shape[i]);
    text = std::to_string(flat % size) + (text.empty() ? "" : ", ") + text;
    flat /= size;
  }
  return "[" + text + "]";
}

std::string zrt::describeElement(const Program &program, int partition,
                                 bool sharded, int rank, uint64_t stored) {
  std::string found = "padding";
  for (const Parameter &parameter : program.parameters)
    if (parameter.partition == partition)
      forEachPiece(program, parameter, sharded, rank, [&](const Piece &piece) {
        if (stored >= piece.stored && stored < piece.stored + piece.count)
          found = parameter.name +
                  indexText(parameter.shape,
                            piece.element + (stored - piece.stored));
      });
  return found;
}
