// Sums over rows for many columns at once: the gradients of a norm's weights.
#ifndef ZERO_RUNTIME_KERNELS_HOST_COLUMNSUMS_H
#define ZERO_RUNTIME_KERNELS_HOST_COLUMNSUMS_H

#include "kernels/Vector.h"
#include "kernels/host/Host.h"

#include <algorithm>

namespace zrt::host {

/// Rows in blocks that follow from their number alone; each block has its own
/// `width` f32 sums in the workspace, and blocks are added in order. So the
/// bits do not depend on how many threads share the blocks.
class ColumnSums {
public:
  ColumnSums(int64_t rows, int64_t width) : rows(rows), width(width) {
    constexpr int64_t mostBlocks = 64, fewestRows = 16;
    blockRows = std::max(fewestRows, (rows + mostBlocks - 1) / mostBlocks);
    blocks = (rows + blockRows - 1) / blockRows;
  }

  int64_t blockCount() const { return blocks; }
  int64_t firstRow(int64_t block) const { return block * blockRows; }
  int64_t endRow(int64_t block) const {
    return std::min(rows, (block + 1) * blockRows);
  }
  size_t workspaceBytes() const {
    return padded(blocks * width * sizeof(float));
  }

  /// The sums of `block`, set to zero.
  float *clear(void *workspace, int64_t block) const {
    float *sums = static_cast<float *>(workspace) + block * width;
    std::fill(sums, sums + width, 0.0f);
    return sums;
  }

  /// to[c] = the sum over blocks of column `offset` + c, for `count` columns.
  template <typename T>
  void finish(ThreadPool &pool, const void *workspace, int64_t offset,
              int64_t count, T *to) const {
    const float *sums = static_cast<const float *>(workspace) + offset;
    pool.parallelFor(count, 256, [&](int64_t begin, int64_t end) {
      forEachVector(end - begin, [&](Lanes at) {
        Vector total = splat(0);
        for (int64_t block = 0; block < blocks; ++block)
          total += at.load(sums + block * width + begin);
        at.store(to + begin, total);
      });
    });
  }

private:
  int64_t rows, width, blockRows, blocks;
};

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_COLUMNSUMS_H
