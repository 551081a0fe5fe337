#include "communicator/InProcessWork.h"

#include "communicator/Reduce.h"

#include <algorithm>
#include <cstring>

namespace zrt {
namespace {

/// Bytes of one rank's data in a piece: worth handing to a thread, and with
/// all ranks' still a fraction of a second-level cache.
constexpr uint64_t kPieceBytes = 128 << 10;
/// Bytes that are reduced before they are copied to the ranks, so that the
/// copies read the first-level cache.
constexpr uint64_t kReduceBytes = 8 << 10;

uint64_t pieceElements(DataType type) { return kPieceBytes / sizeOf(type); }

const char *at(const void *base, uint64_t element, DataType type) {
  return static_cast<const char *>(base) + element * sizeOf(type);
}
char *at(void *base, uint64_t element, DataType type) {
  return static_cast<char *>(base) + element * sizeOf(type);
}

void copyBytes(void *to, const void *from, size_t bytes) {
  if (to != from)
    std::memcpy(to, from, bytes);
}

} // namespace

void InProcessWork::reserve(int ranks, size_t parts) {
  reset(ranks);
  for (std::vector<Transfer> &posted : parts_)
    posted.reserve(parts);
  firstPiece_.reserve(parts + 1);
}

void InProcessWork::reset(int ranks) {
  ranks_ = ranks;
  parts_.resize(ranks);
  sources_.resize(static_cast<size_t>(ranks) * ranks);
}

void InProcessWork::describePieces(Collective kind, Reduction reduction) {
  kind_ = kind;
  reduction_ = reduction;
  const bool sliced = sendsToEach(kind) || receivesFromEach(kind);
  firstPiece_.assign(1, 0);
  for (const Transfer &part : parts_[0]) {
    uint64_t size = pieceElements(part.type);
    uint64_t pieces = part.count / size + (part.count % size != 0);
    firstPiece_.push_back(firstPiece_.back() + pieces * (sliced ? ranks_ : 1));
  }
}

void InProcessWork::run(uint64_t piece, int worker) {
  auto next = std::upper_bound(firstPiece_.begin(), firstPiece_.end(), piece);
  size_t part = next - firstPiece_.begin() - 1;
  const Transfer &shape = parts_[0][part];
  uint64_t size = pieceElements(shape.type);
  uint64_t perSlice = shape.count / size + (shape.count % size != 0);
  uint64_t slice = (piece - firstPiece_[part]) / perSlice;
  uint64_t begin = (piece - firstPiece_[part]) % perSlice * size;
  uint64_t count = std::min(size, shape.count - begin);
  if (isReducing(kind_))
    reduce(part, slice, begin, count,
           &sources_[static_cast<size_t>(worker) * ranks_]);
  else
    copy(part, slice, begin, count);
}

/// Elements [offset, offset + count) of the slice, of all ranks' send buffers.
void InProcessWork::reduce(size_t part, uint64_t slice, uint64_t offset,
                           uint64_t count, const void **sources) {
  const Transfer &shape = parts_[0][part];
  const DataType type = shape.type;
  const uint64_t block = kReduceBytes / sizeOf(type);
  alignas(64) char reduced[kReduceBytes];
  for (uint64_t begin = offset; begin < offset + count; begin += block) {
    uint64_t length = std::min(block, offset + count - begin);
    size_t bytes = length * sizeOf(type);
    for (int rank = 0; rank < ranks_; ++rank)
      sources[rank] =
          at(parts_[rank][part].send, slice * shape.count + begin, type);
    if (kind_ == Collective::AllReduce) {
      reduceInOrder(reduction_, type, sources, ranks_, reduced, length);
      for (int rank = 0; rank < ranks_; ++rank)
        std::memcpy(at(parts_[rank][part].receive, begin, type), reduced,
                    bytes);
      continue;
    }
    int owner =
        kind_ == Collective::Reduce ? shape.root : static_cast<int>(slice);
    reduceInOrder(reduction_, type, sources, ranks_,
                  at(parts_[owner][part].receive, begin, type), length);
  }
}

/// Elements [begin, begin + count) of what the rank `slice` sends to each, or
/// of what the root sends.
void InProcessWork::copy(size_t part, uint64_t slice, uint64_t begin,
                         uint64_t count) const {
  const Transfer &shape = parts_[0][part];
  const DataType type = shape.type;
  const bool fromEach = receivesFromEach(kind_), toEach = sendsToEach(kind_);
  const auto source = static_cast<size_t>(fromEach ? slice : shape.root);
  for (size_t rank = 0; rank < parts_.size(); ++rank) {
    const uint64_t from = (toEach ? rank * shape.count : 0) + begin;
    const uint64_t to = (fromEach ? slice * shape.count : 0) + begin;
    copyBytes(at(parts_[rank][part].receive, to, type),
              at(parts_[source][part].send, from, type), count * sizeOf(type));
  }
}

} // namespace zrt
