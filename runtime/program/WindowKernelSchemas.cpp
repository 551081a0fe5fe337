// The kernels of `nn` that slide windows over images: convolutions and pooling.
// How many windows there are is here; what else shapes are, rows say.
#include "program/KernelPattern.h"
#include "program/Windows.h"
#include "program/Workspaces.h"

using namespace zrt;

namespace {

using Shapes = const KernelShapes &;

constexpr char kX[] = "x", kY[] = "y", kDx[] = "dx", kDy[] = "dy";

/// The number of windows along `dim`; with `up`, the last one may hang over the
/// padding. 0 where there is none.
int64_t countWindows(const WindowDim &dim, bool up) {
  const int64_t room =
      dim.size + 2 * dim.padding - dim.dilation * (dim.window - 1) - 1;
  if (room < 0 || dim.window < 1)
    return 0;
  if (!up)
    return room / dim.stride + 1;
  const int64_t count = (room + dim.stride - 1) / dim.stride + 1;
  // A window that begins in the padding at the end sees nothing.
  return (count - 1) * dim.stride >= dim.size + dim.padding ? count - 1 : count;
}

/// The tensor `resultName` has an element for each window of the tensor
/// `imageName`, rounded down or, with `roundsUp`, up.
std::string checkWindows(Shapes s, const char *imageName,
                         const char *resultName,
                         const std::vector<int64_t> &window, bool roundsUp) {
  const TensorType &images = *s.tensor(imageName),
                   &results = *s.tensor(resultName);
  const Windows windows = windowsOf(*s.spec, images, results, window);
  TensorType down = results, up = results;
  bool fits = true;
  for (size_t i = 0; i < window.size(); ++i) {
    const WindowDim &dim = windows.dims[3 - window.size() + i];
    down.shape[i + 2] = countWindows(dim, /*up=*/false);
    up.shape[i + 2] = countWindows(dim, roundsUp);
    if (down.shape[i + 2] < 1)
      return "a window of " + std::to_string(dim.window) +
             " elements with dilation " + std::to_string(dim.dilation) +
             " does not fit in the " + std::to_string(dim.size) +
             " elements of dimension " + std::to_string(i + 2) + " of " +
             imageName + " and its padding of " + std::to_string(dim.padding);
    fits &= dim.count == down.shape[i + 2] || dim.count == up.shape[i + 2];
  }
  if (fits)
    return {};
  return std::string(resultName) + " is " + describe(results) + ", wanted " +
         describe(down) + (up == down ? "" : ", or rounded up " + describe(up));
}

/// Images x [n, u.i, s..], weights w [u.m, i, k..] and results y [n, u.m, o..]
/// of u groups; the features of a gradient of weights may be some only.
uint64_t convFlops(Shapes s) {
  const TensorType *dw = s.tensor("dw");
  const int64_t features = dw ? dw->shape.front() : s.size("u.m");
  return 2 * uint64_t(s.size("n")) * features * s.product("o") * s.size("i") *
         s.product("k");
}

/// `images` and `results` are the names of those tensors.
template <const char *images, const char *results>
std::string checkConv(Shapes s) {
  if (s.spec->has("rows") && s.size("u") != 1)
    return "rows are given of a convolution with " +
           std::to_string(s.size("u")) + " groups, wanted one group";
  return checkWindows(s, images, results, s.sizes("k"), /*roundsUp=*/false);
}

/// An operation for each element of each window.
template <const char *pooled> uint64_t poolFlops(Shapes s) {
  uint64_t operations = s.elements(pooled);
  for (int64_t size : s.spec->ints.at("window"))
    operations *= size;
  return operations;
}

template <const char *images, const char *pooled>
std::string checkPool(Shapes s) {
  const std::vector<int64_t> &window = s.spec->ints.at("window"),
                             &padding = s.spec->ints.at("padding");
  for (size_t i = 0; i < window.size(); ++i)
    if (padding[i] > window[i] / 2)
      return "attribute 'padding' is " + listText(padding) +
             ", wanted at most half of the window " + listText(window);
  return checkWindows(s, images, pooled, window, /*roundsUp=*/true);
}

} // namespace

const std::vector<KernelSchema> &zrt::windowKernelSchemas() {
  static const std::vector<KernelSchema> schemas = {
#include "zero/Dialect/NN/NNConvolutionRows.inc"
#include "zero/Dialect/NN/NNPoolingRows.inc"
  };
  return schemas;
}
