// The kernels of `nn` that multiply matrices, attention and what goes with it,
// one row each. Matrix products count two operations a multiplication;
// everything else counts what its formula does an element.
#include "program/KernelPattern.h"
#include "program/Workspaces.h"

#include <algorithm>

using namespace zrt;

namespace {

using Shapes = const KernelShapes &;

//===----------------------------------------------------------------------===//
// Products and attention
//===----------------------------------------------------------------------===//

/// Elements of the result, and what each takes besides its product.
uint64_t productFlops(Shapes s, int64_t others) {
  return s.product("r") * s.size("n") * (2 * s.size("k") + others);
}

KernelArithmetic linearProduct(Shapes s) {
  return {KernelArithmetic::Product, 1, s.product("r"), s.size("n"),
          s.size("k")};
}

uint64_t linearFlops(Shapes s) { return productFlops(s, s.flag("bias")); }

uint64_t linearAddFlops(Shapes s) {
  return productFlops(s, s.flag("bias") + 1);
}

/// What gelu takes an element, tanh as one operation, and its derivative.
constexpr int64_t kGeluFlops = 9, kGeluGradFlops = 18;

uint64_t linearGeluFlops(Shapes s) {
  return productFlops(s, s.flag("bias") + kGeluFlops);
}

uint64_t linearGeluGradFlops(Shapes s) {
  return productFlops(s, (s.tensor("db") ? 1 : 0) + kGeluGradFlops);
}

/// A sum takes one operation an element of `dy`.
uint64_t linearWeightGradFlops(Shapes s) {
  return productFlops(s, 0) + s.elements("dy");
}

KernelArithmetic linearWeightProduct(Shapes s) {
  return {KernelArithmetic::Product, 1, s.size("k"), s.size("n"),
          s.product("r")};
}

uint64_t matmulFlops(Shapes s) {
  return 2 * s.elements("c") * uint64_t(s.size("k"));
}

/// Of the left operand only what belongs to the rows is read.
uint64_t matmulBytes(Shapes s) {
  const TensorType &a = *s.tensor("a"), &c = *s.tensor("c");
  uint64_t left = a.bytes();
  if (s.spec->has("rows"))
    left = left / s.size("m") * c.shape.front();
  return left + s.tensor("b")->bytes() + c.bytes();
}

KernelArithmetic matmulProduct(Shapes s) {
  const int64_t count = s.product("b"), columns = s.size("n");
  const int64_t elements = count * columns;
  return {KernelArithmetic::Product, count,
          elements ? s.elements("c") / elements : 0, columns, s.size("k")};
}

/// `products` matrix products over all pairs of a query and a key, of which
/// `causal` needs half. A score is scaled, compared, exponentiated and summed.
template <int products> uint64_t attentionFlops(Shapes s) {
  int64_t rows = s.size("b") * s.size("g.r") * s.size("t");
  int64_t scores = rows * s.size("s");
  if (s.flag("causal"))
    scores = (scores + rows) / 2;
  return scores * (2 * products * s.size("d") + 4);
}

KernelArithmetic attentionArithmetic(Shapes s) {
  return {KernelArithmetic::Attention, s.size("b") * s.size("g.r"), s.size("t"),
          s.size("s"), s.size("d")};
}

/// f32 of [T, S], or of [B, H, T, S] with any of them 1.
std::string checkMask(Shapes s, const TensorType &mask) {
  const int64_t full[4] = {s.size("b"), s.size("g.r"), s.size("t"),
                           s.size("s")};
  const size_t rank = mask.shape.size();
  bool fits = rank == 2 || rank == 4;
  for (size_t i = 0; fits && i < rank; ++i)
    fits = mask.shape[i] == full[4 - rank + i] ||
           (rank == 4 && mask.shape[i] == 1);
  return fits ? ""
              : "the mask is " + describe(mask) +
                    ", wanted f32 of [T, S], or of [B, H, T, S] with any of "
                    "them 1";
}

std::string checkAttention(Shapes s) {
  if (s.size("s") == 0)
    return "no keys, wanted one or more";
  if (s.flag("causal") && s.size("t") != s.size("s"))
    return "causal with " + std::to_string(s.size("t")) + " queries and " +
           std::to_string(s.size("s")) + " keys, wanted equal numbers";
  if (s.spec->has("dropout") != s.spec->has("id"))
    return std::string("has ") + (s.spec->has("id") ? "an id" : "dropout") +
           ", and no " + (s.spec->has("id") ? "dropout" : "id") +
           "; wanted both or neither";
  if (const TensorType *mask = s.tensor("mask"))
    return checkMask(s, *mask);
  return {};
}

std::string checkRotary(Shapes s) {
  if (s.size("d") % 2)
    return "the operand is " + describe(*s.tensor("x")) +
           ", wanted four dimensions, the last even";
  return {};
}

/// Elements that are rotated: of all heads, or of some.
uint64_t rotatedElements(Shapes s) {
  const uint64_t all = s.elements("x");
  const auto heads = s.spec->ints.find("heads");
  if (heads == s.spec->ints.end() || !all)
    return all;
  return all / s.size("h") * (heads->second[1] - heads->second[0]);
}

uint64_t rotaryFlops(Shapes s) { return 3 * rotatedElements(s); }

/// The other heads are where they are: the result lies in the operand's place.
uint64_t rotaryBytes(Shapes s) {
  return 2 * rotatedElements(s) * sizeOf(s.tensor("x")->type);
}

//===----------------------------------------------------------------------===//
// A loss of a product
//===----------------------------------------------------------------------===//

/// A loss of a product in chunks of rows: `products` matrix products, and what
/// a logit takes besides.
template <int products, int others> uint64_t linearLossFlops(Shapes s) {
  return productFlops(s, 0) * products +
         s.product("r") * s.size("n") * (others + s.flag("bias"));
}

/// Every chunk reads the weight once a product, and, of the gradient, adds to
/// f32 sums for it; logits are written and read so many times.
template <bool isGradient> uint64_t linearLossBytes(Shapes s) {
  const TensorType &x = *s.tensor("x"), &w = *s.tensor("w");
  const uint64_t rows = s.product("r"), chunk = s.spec->integer("chunk");
  const uint64_t chunks = (rows + chunk - 1) / chunk;
  const uint64_t logits = rows * s.size("n") * sizeOf(x.type);
  const uint64_t sums = 2 * s.elements("w") * sizeof(float);
  if (!isGradient)
    return x.bytes() + s.tensor("targets")->bytes() + chunks * w.bytes() +
           2 * logits;
  return 3 * x.bytes() + s.tensor("targets")->bytes() +
         chunks * (2 * w.bytes() + sums) + w.bytes() + 6 * logits;
}

std::string checkBiasGradient(Shapes s) {
  const bool hasGradient = s.tensor("db");
  if (!s.tensor("dx") || hasGradient == s.flag("bias"))
    return "";
  return hasGradient ? "has db and no bias, wanted both or none"
                     : "has a bias and no db, wanted both";
}

std::string checkLinearLoss(Shapes s) {
  const std::string wrong = checkBiasGradient(s);
  return wrong.empty() ? checkCount(s, "classes", 1, s.size("n")) : wrong;
}

template <int products> KernelArithmetic linearLossProducts(Shapes s) {
  const int64_t rows = s.product("r");
  const int64_t chunk = std::min(rows, s.spec->integer("chunk"));
  return {KernelArithmetic::Product, chunk ? products * (rows / chunk) : 0,
          chunk, s.size("n"), s.size("k")};
}

} // namespace

const std::vector<KernelSchema> &zrt::productKernelSchemas() {
  static const std::vector<KernelSchema> schemas = {
#include "zero/Dialect/NN/NNAttentionRows.inc"
#include "zero/Dialect/NN/NNFusedRows.inc"
#include "zero/Dialect/NN/NNMatrixRows.inc"
  };
  return schemas;
}
