// The kernels of `nn` that multiply matrices, attention and what goes with it,
// one row each. Matrix products count two operations a multiplication;
// everything else counts what its formula does an element.
#include "program/KernelPattern.h"

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

std::string checkMatmul(Shapes s) {
  if (s.spec->has("rows") && !s.sizes("b").empty())
    return "rows are given of products with a batch, wanted matrices";
  return {};
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
  if (s.flag("causal") && s.size("t") != s.size("s"))
    return "causal with " + std::to_string(s.size("t")) + " queries and " +
           std::to_string(s.size("s")) + " keys, wanted equal numbers";
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

std::string checkLinearLoss(Shapes s) {
  if (s.spec->integer("chunk") < 1)
    return "attribute 'chunk' is " + std::to_string(s.spec->integer("chunk")) +
           ", wanted 1 or more";
  if (s.tensor("db") && !s.flag("bias"))
    return "there is a gradient of a bias, and no bias";
  return checkCount(s, "classes", 1, s.size("n"));
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
      {"nn.linear",
       "x:T[r..,k] w:T[k,n]~transposed bias+?:T[n] -> y:T[r..,n] | "
       "parallel r n, sum k, linear x w",
       "transposed:flag bias:flag", linearFlops, nullptr, nullptr,
       linearProduct},
      {"nn.linear_add",
       "x:T[r..,k] w:T[k,n]~transposed c+:T[r..,n] bias+?:T[n] -> y:T[r..,n] | "
       "parallel r n, sum k, linear x w",
       "transposed:flag bias:flag", linearAddFlops, nullptr, nullptr,
       linearProduct},
      {"nn.linear_gelu",
       "x:T[r..,k] w:T[k,n]~transposed bias?:T[n] -> y:T[r..,n] h?:T[r..,n] | "
       "parallel r n",
       "transposed:flag bias:flag", linearGeluFlops, nullptr, nullptr,
       linearProduct},
      {"nn.linear_gelu_grad",
       "dy:T[r..,k] w:T[k,n]~transposed h:T[r..,n] -> dh:T[r..,n] db?:T[n] | "
       "parallel n, sum r k, linear dy w",
       "transposed:flag", linearGeluGradFlops, nullptr, nullptr, linearProduct},
      {"nn.linear_weight_grad",
       "dy:T[r..,n] x:T[r..,k] -> dw:T[k,n]~transposed db:T[n] | "
       "parallel k n, sum r, linear dy",
       "transposed:flag", linearWeightGradFlops, nullptr, nullptr,
       linearWeightProduct},
      {"nn.matmul",
       "a:T[b..,m,k]~transpose_a b:T[b..,k,n]~transpose_b -> "
       "c:T[b..,m@rows,n] | parallel b m n, sum k, linear a b",
       "transpose_a:flag transpose_b:flag rows:range?", matmulFlops,
       matmulBytes, checkMatmul, matmulProduct},
      // Query heads are r for each of g key heads.
      {"nn.attention",
       "q:T[b,t,g.r,d]& k:T[b,s,g,d]& v:T[b,s,g,d]& mask?:S[b,g.r,t,s]^ -> "
       "out:T[b,t,g.r,d]& lse:S[b,g.r,t] | parallel b g r t!causal",
       "causal:flag mask:flag scale:real?", attentionFlops<2>, nullptr,
       checkAttention, attentionArithmetic},
      {"nn.attention_grad",
       "dout:T[b,t,g.r,d]& q:T[b,t,g.r,d]& k:T[b,s,g,d]& v:T[b,s,g,d]& "
       "out:T[b,t,g.r,d]& lse:S[b,g.r,t] mask?:S[b,g.r,t,s]^ -> "
       "dq:T[b,t,g.r,d]& dk:T[b,s,g,d]& dv:T[b,s,g,d]& | parallel b g, "
       "sum r t!causal, linear dout",
       "causal:flag mask:flag scale:real?", attentionFlops<5>, nullptr,
       checkAttention, attentionArithmetic},
      {"nn.rotary", "x:T[b,t,h,d]& -> y:T[b,t,h,d]& | parallel b h, linear x",
       "interleaved:flag inverse:flag theta:real heads:range[h]?", rotaryFlops,
       rotaryBytes, checkRotary},
      {"nn.linear_cross_entropy",
       "x:T[r..,k] w:T[k,n]~transposed targets:i32[r..] bias?:T[n] -> "
       "loss:S[] | combined n",
       "transposed:flag bias:flag chunk:int ignore_index:int? classes:int?",
       linearLossFlops<1, 4>, linearLossBytes<false>, checkLinearLoss,
       linearLossProducts<1>},
      {"nn.linear_cross_entropy_grad",
       "dloss:S[] x:T[r..,k] w:T[k,n]~transposed targets:i32[r..] "
       "bias?:T[n] -> loss:S[] dx:T[r..,k] dw:T[k,n]~transposed db?:T[n] | "
       "combined n",
       "transposed:flag bias:flag chunk:int ignore_index:int? classes:int?",
       linearLossFlops<3, 8>, linearLossBytes<true>, checkLinearLoss,
       linearLossProducts<3>},
  };
  return schemas;
}
