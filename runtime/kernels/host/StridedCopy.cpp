#include "kernels/host/StridedCopy.h"

#include "kernels/Vector.h"
#include "kernels/host/Host.h"

#include <algorithm>
#include <cstring>

namespace zrt::host {

StridedCopy::StridedCopy(const std::vector<int64_t> &sizes,
                         const std::vector<int64_t> &fromStrides,
                         const std::vector<int64_t> &toStrides,
                         size_t elementBytes)
    : elementBytes(elementBytes) {
  for (size_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] != 1)
      outer.push_back({sizes[i], fromStrides[i], toStrides[i]});
  merge();
  chooseInner();
}

/// Makes one dimension of neighbours that both sides walk through evenly.
void StridedCopy::merge() {
  std::vector<Dim> merged;
  for (const Dim &dim : outer) {
    if (!merged.empty() && merged.back().from == dim.from * dim.size &&
        merged.back().to == dim.to * dim.size)
      merged.back() = {merged.back().size * dim.size, dim.from, dim.to};
    else
      merged.push_back(dim);
  }
  outer = std::move(merged);
}

/// The last dimension is written one element after the other. Where it is not
/// read so, the one that is becomes the other inner loop: tiles of both use
/// whole cache lines on both sides.
void StridedCopy::chooseInner() {
  if (outer.empty())
    return;
  row = outer.back();
  outer.pop_back();
  auto last = outer.end();
  if (row.from > 1)
    last = std::find_if(outer.begin(), outer.end(),
                        [](const Dim &dim) { return dim.from == 1; });
  if (last == outer.end() && !outer.empty())
    last = outer.end() - 1;
  if (last != outer.end()) {
    column = *last;
    outer.erase(last);
  }
}

template <typename T>
void StridedCopy::moveInner(const T *from, T *to, int64_t columns) const {
  if (row.from == 1 && row.to == 1) {
    for (int64_t i = 0; i < columns; ++i)
      std::memcpy(to + i * column.to, from + i * column.from,
                  row.size * sizeof(T));
  } else if (row.from == 0 && row.to == 1) {
    for (int64_t i = 0; i < columns; ++i)
      std::fill_n(to + i * column.to, row.size, from[i * column.from]);
  } else {
    constexpr int64_t tile = kLanes;
    for (int64_t i0 = 0; i0 < columns; i0 += tile)
      for (int64_t j0 = 0; j0 < row.size; j0 += tile) {
        int64_t iEnd = std::min(i0 + tile, columns);
        int64_t jEnd = std::min(j0 + tile, row.size);
        bool whole = iEnd - i0 == tile && jEnd - j0 == tile;
        if (sizeof(T) == sizeof(float) && whole && column.from == 1 &&
            row.to == 1) {
          // Bits pass through float vectors unchanged.
          transposeTile(
              reinterpret_cast<const float *>(from + i0 + j0 * row.from),
              row.from, reinterpret_cast<float *>(to + i0 * column.to + j0),
              column.to);
          continue;
        }
        for (int64_t i = i0; i < iEnd; ++i)
          for (int64_t j = j0; j < jEnd; ++j)
            to[i * column.to + j * row.to] =
                from[i * column.from + j * row.from];
      }
  }
}

template <typename T>
void StridedCopy::runTyped(ThreadPool &pool, const T *from, T *to) const {
  int64_t blocks = 1;
  for (const Dim &dim : outer)
    blocks *= dim.size;
  auto at = [&](int64_t block, int64_t &source, int64_t &target) {
    source = target = 0;
    for (size_t i = outer.size(); i-- > 0; block /= outer[i].size) {
      int64_t index = block % outer[i].size;
      source += index * outer[i].from;
      target += index * outer[i].to;
    }
  };
  if (blocks > 1 || column.size == 1) {
    pool.parallelFor(blocks, rowGrain(column.size * row.size),
                     [&](int64_t begin, int64_t end) {
                       int64_t source, target;
                       for (int64_t block = begin; block < end; ++block) {
                         at(block, source, target);
                         moveInner(from + source, to + target, column.size);
                       }
                     });
    return;
  }
  // One block: share out its columns, in whole tiles.
  constexpr int64_t tile = kLanes;
  int64_t tiles = (column.size + tile - 1) / tile;
  pool.parallelFor(
      tiles, rowGrain(tile * row.size), [&](int64_t begin, int64_t end) {
        int64_t first = begin * tile;
        moveInner(from + first * column.from, to + first * column.to,
                  std::min(end * tile, column.size) - first);
      });
}

void StridedCopy::run(ThreadPool &pool, const void *from, void *to) const {
  switch (elementBytes) {
  case 1:
    return runTyped(pool, static_cast<const uint8_t *>(from),
                    static_cast<uint8_t *>(to));
  case 2:
    return runTyped(pool, static_cast<const uint16_t *>(from),
                    static_cast<uint16_t *>(to));
  case 4:
    return runTyped(pool, static_cast<const uint32_t *>(from),
                    static_cast<uint32_t *>(to));
  default:
    return runTyped(pool, static_cast<const uint64_t *>(from),
                    static_cast<uint64_t *>(to));
  }
}

} // namespace zrt::host
