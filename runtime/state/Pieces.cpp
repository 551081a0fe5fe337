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

void zrt::forEachPiece(const Program &program, const Parameter &parameter,
                       bool sharded, int rank,
                       const std::function<void(const Piece &)> &body) {
  const Partition &partition = partitionOf(program, parameter);
  uint64_t begin = parameter.memberOffset;
  uint64_t end = begin + static_cast<uint64_t>(parameter.elements());
  if (begin == end)
    return;
  if (!sharded)
    return body({0, end - begin, begin});
  uint64_t owners = static_cast<uint64_t>(program.ranksOf(partition.group));
  uint64_t index =
      static_cast<uint64_t>(program.mesh.indexIn(partition.group, rank));
  for (const Segment &segment : partition.segments) {
    uint64_t slice = segment.size / owners;
    uint64_t first = segment.offset + slice * index;
    uint64_t from = std::max(begin, first);
    uint64_t to = std::min(end, first + slice);
    if (from < to)
      body({from - begin, to - from, segment.offset / owners + (from - first)});
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
