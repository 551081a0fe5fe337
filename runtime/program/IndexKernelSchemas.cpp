// The kernels of `nn` that move, order and group elements by positions that are
// data: gathers, scatters, sorts, running sums, grouped products. And numbers
// that are drawn.
#include "program/KernelPattern.h"

#include <cmath>

using namespace zrt;

namespace {

using Shapes = const KernelShapes &;

/// The dimension that the attribute `dim` gives, or -1 where `x` has none such.
int64_t dimOf(Shapes s, const TensorType &x) {
  const int64_t dim = s.spec->integer("dim");
  return dim >= 0 && dim < int64_t(x.shape.size()) ? dim : -1;
}

std::string wrongDim(Shapes s, const TensorType &x) {
  return "attribute 'dim' is " + std::to_string(s.spec->integer("dim")) +
         ", wanted a dimension of " + describe(x);
}

/// Positions of the elements of `part`, or of its rows.
std::string checkIds(const TensorType &ids, const TensorType &part,
                     int64_t dim) {
  const std::vector<int64_t> rows(part.shape.begin(),
                                  part.shape.begin() + dim + 1);
  if (ids.shape == part.shape || ids.shape == rows)
    return {};
  return "ids is " + describe(ids) + ", wanted " +
         describe({DataType::I32, rows}) + " or " +
         describe({DataType::I32, part.shape});
}

/// `part` is `whole` but for its size at `dim`.
std::string checkPart(const char *name, const TensorType &part,
                      const TensorType &whole, int64_t dim) {
  TensorType wanted = whole;
  if (part.shape.size() == whole.shape.size())
    wanted.shape[dim] = part.shape[dim];
  if (part == wanted)
    return {};
  return std::string(name) + " is " + describe(part) + ", wanted " +
         describe(wanted) + " with any size at " + std::to_string(dim);
}

std::string checkGather(Shapes s) {
  const TensorType &x = *s.tensor("x"), &y = *s.tensor("y");
  const int64_t dim = dimOf(s, x);
  if (dim < 0)
    return wrongDim(s, x);
  const std::string wrong = checkPart("y", y, x, dim);
  return wrong.empty() ? checkIds(*s.tensor("ids"), y, dim) : wrong;
}

std::string checkScatter(Shapes s) {
  const TensorType &x = *s.tensor("x"), &y = *s.tensor("y");
  const int64_t dim = dimOf(s, y);
  if (dim < 0)
    return wrongDim(s, y);
  const std::string wrong = checkPart("x", x, y, dim);
  return wrong.empty() ? checkIds(*s.tensor("ids"), x, dim) : wrong;
}

std::string checkScatterAdd(Shapes s) {
  const TensorType &y = *s.tensor("y");
  if (const TensorType *init = s.tensor("init"))
    if (!(*init == y))
      return "init is " + describe(*init) + ", wanted " + describe(y);
  if (!s.spec->has("rows"))
    return checkScatter(s);
  const std::vector<int64_t> &rows = s.spec->ints.at("rows");
  if (s.spec->integer("dim") != 0 || y.shape.empty() ||
      rows[1] - rows[0] != y.shape[0])
    return "rows are given of y, " + describe(y) + ", along dimension " +
           std::to_string(s.spec->integer("dim")) +
           ", wanted as many as it has along dimension 0";
  return checkScatter(s);
}

enum : int64_t { kSet = 0, kMaximum = 1 };

std::string checkScatterKind(Shapes s) {
  const int64_t kind = s.spec->integer("kind");
  if (kind != kSet && kind != kMaximum)
    return "attribute 'kind' is " + std::to_string(kind) +
           ", wanted 0 (set) or 1 (max)";
  if (kind == kMaximum && !isFloat(s.tensor("x")->type))
    return "x is " + describe(*s.tensor("x")) +
           ", wanted floats to take the largest of";
  return checkScatter(s);
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
  if (first < 0 || first > width || first != s.size("m"))
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

std::string checkCumsum(Shapes s) {
  const TensorType &x = *s.tensor("x");
  return dimOf(s, x) < 0 ? wrongDim(s, x) : checkNumbers(s);
}

std::string checkRandom(Shapes s) {
  return s.tensor("y")->shape.empty()
             ? "y is a scalar, wanted a dimension of samples"
             : "";
}

/// Each row of `a` is multiplied once, by the matrix of its group.
uint64_t groupedFlops(Shapes s) {
  return 2 * uint64_t(s.size("s")) * s.size("k") * s.size("n");
}

} // namespace

const std::vector<KernelSchema> &zrt::indexKernelSchemas() {
  static const std::vector<KernelSchema> schemas = {
      {"nn.gather", "x:E[..] ids:i32[..] -> y:E[..]", "dim:int", nullptr,
       gatherBytes, checkGather},
      {"nn.scatter_add", "x:T[..] ids:i32[..] init?:T[..] -> y:T[..]",
       "dim:int init:flag rows:range?",
       [](Shapes s) -> uint64_t { return s.elements("x"); }, nullptr,
       checkScatterAdd},
      {"nn.scatter", "x:E[..] ids:i32[..] into:E[w..] -> y:E[w..]",
       "dim:int kind:int", [](Shapes s) -> uint64_t { return s.elements("x"); },
       nullptr, checkScatterKind},
      {"nn.argsort", "x:any[r..,n] -> order:i32[r..,m]",
       "descending:flag first:int?", argsortFlops, nullptr, checkArgsort},
      {"nn.cumsum", "x:E[r..] -> y:E[r..]", "dim:int reverse:flag",
       [](Shapes s) -> uint64_t { return s.elements("x"); }, nullptr,
       checkCumsum},
      // Of the generator a number takes 15 operations, then a root, a
      // logarithm, a sine or cosine and their products.
      {"nn.random_normal", "-> y:T[..]", "id:int",
       [](Shapes s) -> uint64_t { return 21 * s.elements("y"); }, nullptr,
       checkRandom},
      {"nn.grouped_matmul",
       "a:T[s,k] b:T[e,k,n]~transpose_b offsets:i32[e] -> c:T[s,n]",
       "transpose_b:flag", groupedFlops},
      {"nn.grouped_matmul_grad",
       "a:T[s,k] b:T[s,n] offsets:i32[e] -> d:T[e@rows,k,n]", "rows:range?",
       groupedFlops},
  };
  return schemas;
}
