//===- Windows.cpp - windows that convolutions and pooling slide ----------===//

#include "Windows.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::nn::detail;

int64_t Windows::count(unsigned i, int64_t size, bool up) const {
  int64_t span = dilations[i] * (window[i] - 1) + 1;
  int64_t room = size + 2 * padding[i] - span;
  if (room < 0)
    return 0;
  if (!up)
    return room / strides[i] + 1;
  int64_t count = llvm::divideCeil(room, strides[i]) + 1;
  // A window that begins in the padding at the end sees nothing.
  if ((count - 1) * strides[i] >= size + padding[i])
    --count;
  return count;
}

LogicalResult mlir::nn::detail::checkImages(const Checker &check,
                                            StringRef name, Value images) {
  int64_t rank = typeOf(images).getRank();
  if (rank >= 3 && rank <= 5)
    return success();
  return check.error(name + " has rank " + Twine(rank) +
                     ", wanted [N, C] and one to three spatial dimensions");
}

LogicalResult mlir::nn::detail::checkList(const Checker &check, StringRef name,
                                          ArrayRef<int64_t> list,
                                          int64_t spatial, int64_t least) {
  if (static_cast<int64_t>(list.size()) == spatial &&
      llvm::all_of(list, [&](int64_t entry) { return entry >= least; }))
    return success();
  return check.error(name + " is " + toString(list) + ", wanted " +
                     Twine(spatial) + " numbers, each " + Twine(least) +
                     " or more");
}
