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

/// Calls `body` with the runs of the whole parameter that `piece`, of the part
/// that `rank` has, consists of. All elements within one index of the dimension
/// that is cut are one run, and so are neighbouring indices of a piece. Padding
/// is in none.
static void forEachRun(const Program &program, const Parameter &parameter,
                       int rank, const Piece &piece,
                       const std::function<void(const Piece &)> &body) {
  const ParameterCut &cut = parameter.cut;
  if (cut.pieces.empty())
    return body(piece);
  const auto ranks = uint64_t(program.ranksOf(cut.group));
  const auto index = uint64_t(program.mesh.indexIn(cut.group, rank));
  const auto elements = uint64_t(parameter.elements());
  uint64_t inner = 1, whole = 0; // elements of an index; indices of the pieces
  for (size_t dim = cut.dim + 1; dim < parameter.shape.size(); ++dim)
    inner *= uint64_t(parameter.shape[dim]);
  for (int64_t size : cut.pieces)
    whole += uint64_t(size);
  const uint64_t block = whole / ranks * inner; // of one rank, of one repeat
  if (block == 0)
    return; // the parameter has no elements
  const uint64_t end = piece.local + piece.count;
  for (uint64_t first = piece.local / block * block; first < end;
       first += block) {
    uint64_t local = first, element = first * ranks;
    for (int64_t size : cut.pieces) {
      const uint64_t part = uint64_t(size) / ranks * inner;
      const uint64_t from = std::max(piece.local, local);
      const uint64_t to = std::min(end, local + part);
      const uint64_t at = element + index * part + (from - local);
      if (from < to && at < elements)
        body({at, std::min(to - from, elements - at),
              piece.stored + (from - piece.local), from});
      local += part;
      element += uint64_t(size) * inner;
    }
  }
}

void zrt::forEachPiece(const Program &program, const Parameter &parameter,
                       bool sharded, int rank,
                       const std::function<void(const Piece &)> &body) {
  const Partition &partition = partitionOf(program, parameter);
  uint64_t begin = parameter.memberOffset;
  uint64_t end = begin + program.elementsOf(parameter);
  if (begin == end)
    return;
  const auto add = [&](uint64_t local, uint64_t count, uint64_t stored) {
    forEachRun(program, parameter, rank, {local, count, stored, local}, body);
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
static std::string indexText(const std::vector<int64_t> &shape, uint64_t flat) {
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
