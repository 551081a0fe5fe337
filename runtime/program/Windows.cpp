#include "program/Windows.h"

#include "program/KernelSchema.h"

using namespace zrt;

bool Windows::arePoints() const {
  for (const WindowDim &dim : dims)
    if (dim.window != 1 || dim.stride != 1 || dim.padding != 0)
      return false;
  return true;
}

Windows zrt::windowsOf(const KernelSpec &spec, const TensorType &images,
                       const TensorType &results,
                       const std::vector<int64_t> &window) {
  Windows windows;
  const size_t spatial = window.size();
  const auto dilations = spec.ints.find("dilations");
  for (size_t i = 0; i < spatial; ++i) {
    WindowDim &dim = windows.dims[3 - spatial + i];
    dim.size = images.shape[i + 2];
    dim.count = results.shape[i + 2];
    dim.window = window[i];
    dim.stride = spec.ints.at("strides")[i];
    dim.padding = spec.ints.at("padding")[i];
    if (dilations != spec.ints.end())
      dim.dilation = dilations->second[i];
  }
  return windows;
}

namespace {

std::string checkList(const std::string &name, const std::vector<int64_t> &list,
                      size_t length, int64_t least) {
  bool fits = list.size() == length;
  for (int64_t entry : list)
    fits &= entry >= least;
  return fits ? ""
              : name + " has " + std::to_string(list.size()) +
                    " entries, wanted " + std::to_string(length) + ", each " +
                    std::to_string(least) + " or more";
}

bool fits(const WindowDim &dim, bool roundsUp) {
  const int64_t room =
      dim.size + 2 * dim.padding - dim.dilation * (dim.window - 1) - 1;
  if (room < 0 || dim.count < 1)
    return false;
  if (dim.count == room / dim.stride + 1)
    return true;
  return roundsUp && dim.count == (room + dim.stride - 1) / dim.stride + 1 &&
         (dim.count - 1) * dim.stride < dim.size + dim.padding;
}

} // namespace

std::string zrt::checkWindows(const KernelSpec &spec, const TensorType &images,
                              const TensorType &results,
                              const std::vector<int64_t> &window,
                              bool roundsUp) {
  if (images.shape.size() < 3 || images.shape.size() > 5)
    return "images are " + describe(images) +
           ", wanted one to three spatial dimensions after the first two";
  const size_t spatial = images.shape.size() - 2;
  std::string wrong = checkList("the window", window, spatial, 1);
  for (const auto &[key, least] :
       {std::pair<const char *, int64_t>{"strides", 1},
        {"padding", 0},
        {"dilations", 1}}) {
    const auto list = spec.ints.find(key);
    if (wrong.empty() && list != spec.ints.end())
      wrong = checkList(std::string("attribute '") + key + "'", list->second,
                        spatial, least);
  }
  if (!wrong.empty())
    return wrong;
  if (results.shape.size() == images.shape.size()) {
    bool all = true;
    const Windows windows = windowsOf(spec, images, results, window);
    for (const WindowDim &dim : windows.dims)
      all &= fits(dim, roundsUp);
    if (all)
      return {};
  }
  return "there are windows for " + describe(results) + ", which images of " +
         describe(images) + " do not have";
}
