// Copies between two strided views of one shape: what broadcasts, transposes,
// splits, slices and pads come down to.
#ifndef ZERO_RUNTIME_KERNELS_HOST_STRIDEDCOPY_H
#define ZERO_RUNTIME_KERNELS_HOST_STRIDEDCOPY_H

#include "kernels/Kernel.h"

#include <vector>

namespace zrt::host {

/// A prepared copy. Elements are moved as bytes, whatever their type.
class StridedCopy {
public:
  /// `sizes` and both strides (in elements) have one entry a dimension; a
  /// source stride of 0 repeats. Elements are of 1, 2, 4 or 8 bytes.
  StridedCopy(const std::vector<int64_t> &sizes,
              const std::vector<int64_t> &fromStrides,
              const std::vector<int64_t> &toStrides, size_t elementBytes);

  /// `from` and `to` do not overlap.
  void run(ThreadPool &pool, const void *from, void *to) const;

private:
  struct Dim {
    int64_t size, from, to;
  };
  template <typename T>
  void runTyped(ThreadPool &pool, const T *from, T *to) const;
  template <typename T>
  void moveInner(const T *from, T *to, int64_t columns) const;
  void merge();
  void chooseInner();

  std::vector<Dim> outer;            ///< largest strides first
  Dim column{1, 0, 0}, row{1, 0, 0}; ///< the inner loops: column, then row
  size_t elementBytes;
};

} // namespace zrt::host

#endif // ZERO_RUNTIME_KERNELS_HOST_STRIDEDCOPY_H
