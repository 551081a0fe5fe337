// The kernels of `nn` that send rows to experts, multiply them there, and bring
// them back.
#include "program/KernelPattern.h"
#include "program/Workspaces.h"

#include <limits>

using namespace zrt;

namespace {

using Shapes = const KernelShapes &;

std::string checkExperts(Shapes s) {
  const int64_t groups = s.size("e"), experts = s.spec->integer("experts");
  if (experts > std::numeric_limits<int32_t>::max())
    return "experts is " + std::to_string(experts) +
           ", wanted at most 2^31 - 1";
  if (groups <= experts)
    return {};
  return "offsets are of " + std::to_string(groups) +
         " experts, wanted at most " + std::to_string(experts) +
         ", all there are";
}

/// A product and a sum for each element that is chosen.
uint64_t combineFlops(Shapes s) {
  return 2 * s.elements("places") * uint64_t(s.size("w"));
}

/// The same for the rows and for their weights.
uint64_t combineGradFlops(Shapes s) {
  return (s.flag("weights") ? 3 : 1) * s.elements("places") *
         uint64_t(s.size("w"));
}

std::string checkCombineGrad(Shapes s) {
  if ((s.tensor("weights") == nullptr) == (s.tensor("dweights") == nullptr))
    return {};
  return s.tensor("weights") ? "weights have no gradient, wanted dweights"
                             : "dweights is there without weights";
}

/// Of how many equal ranges of groups those of a product are one.
int64_t rangesOf(Shapes s) {
  return s.spec->has("ranges") ? s.spec->integer("ranges") : 1;
}

/// Each row of `a` is multiplied once, by the matrix of its group; of some of
/// the ranges of groups as many rows as they are groups.
uint64_t groupedFlops(Shapes s) {
  return 2 * uint64_t(s.size("s")) * s.size("k") * s.size("n") / rangesOf(s);
}

/// A product for each group, all of as many rows.
template <bool gradient> KernelArithmetic groupedProducts(Shapes s) {
  const int64_t groups = s.size("e");
  const int64_t rows = groups ? s.size("s") / rangesOf(s) / groups : 0;
  return {KernelArithmetic::Product, groups, gradient ? s.size("k") : rows,
          s.size("n"), gradient ? rows : s.size("k")};
}

std::string checkRanges(Shapes s) {
  if (!s.spec->has("ranges") || s.spec->integer("ranges") > 0)
    return {};
  return "ranges is " + std::to_string(s.spec->integer("ranges")) +
         ", wanted 1 or more";
}

} // namespace

const std::vector<KernelSchema> &zrt::expertKernelSchemas() {
  static const std::vector<KernelSchema> schemas = {
#include "zero/Dialect/NN/NNExpertRows.inc"
  };
  return schemas;
}
