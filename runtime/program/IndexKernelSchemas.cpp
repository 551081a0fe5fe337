// The kernels of `nn` that move and order elements by positions that are
// data: gathers, scatters, sorts, running sums. And numbers that are drawn.
#include "program/KernelPattern.h"
#include "program/Workspaces.h"

#include <cmath>

using namespace zrt;

namespace {

using Shapes = const KernelShapes &;

std::string checkScatterKind(Shapes s) {
  if (s.spec->kind<ScatterKind>() == ScatterKind::Max &&
      !isFloat(s.tensor("x")->type))
    return "x is " + describe(*s.tensor("x")) +
           ", wanted floats to take the largest of";
  return {};
}

/// Only the elements that are taken are read.
uint64_t gatherBytes(Shapes s) {
  return s.tensor("ids")->bytes() + 2 * s.tensor("y")->bytes();
}

std::string checkNumbers(Shapes s) {
  const TensorType &x = *s.tensor("x");
  if (isFloat(x.type) || x.type == DataType::I32)
    return {};
  return "x is " + describe(x) + ", wanted floats or i32";
}

std::string checkArgsort(Shapes s) {
  const int64_t width = s.size("n");
  const int64_t first = s.spec->has("first") ? s.spec->integer("first") : width;
  if (first > width || first != s.size("m"))
    return "order is " + describe(*s.tensor("order")) + " and first " +
           std::to_string(first) + ", wanted as many positions, at most " +
           std::to_string(width);
  return checkNumbers(s);
}

/// A comparison for each halving of a row.
uint64_t argsortFlops(Shapes s) {
  const double width = double(s.size("n"));
  return width < 2 ? 0
                   : s.elements("x") * uint64_t(std::ceil(std::log2(width)));
}

} // namespace

const std::vector<KernelSchema> &zrt::indexKernelSchemas() {
  static const std::vector<KernelSchema> schemas = {
#include "zero/Dialect/NN/NNIndexRows.inc"
  };
  return schemas;
}
