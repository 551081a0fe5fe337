#include "program/Windows.h"

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
