// The kernels of `nn` and of upstream's `tensor`, one row each: tensors,
// attributes, work. Matrix products count two operations a multiplication;
// everything else counts what its formula does an element, an exponential as
// one.
#include "program/KernelPattern.h"
#include "program/Windows.h"

#include <algorithm>

using namespace zrt;

namespace {

using Shapes = const KernelShapes &;

constexpr char kX[] = "x", kY[] = "y", kDx[] = "dx", kDy[] = "dy";

/// Operations an element of a tensor.
template <int operations, const char *tensor = kX> uint64_t each(Shapes s) {
  return operations * s.elements(tensor);
}

//===----------------------------------------------------------------------===//
// Convolutions and pooling
//===----------------------------------------------------------------------===//

/// Images x [n, u.i, s..], weights w [u.m, i, k..] and results y [n, u.m, o..]
/// of u groups; the features of a gradient of weights may be some only.
uint64_t convFlops(Shapes s) {
  const TensorType *dw = s.tensor("dw");
  const int64_t features = dw ? dw->shape.front() : s.size("u.m");
  return 2 * uint64_t(s.size("n")) * features * s.product("o") * s.size("i") *
         s.product("k");
}

std::string checkConv(Shapes s, const TensorType &images,
                      const TensorType &results) {
  if (s.spec->has("rows") && s.size("u") != 1)
    return "rows are given of a convolution with groups, wanted one group";
  return checkWindows(*s.spec, images, results, s.sizes("k"),
                      /*roundsUp=*/false);
}

/// `images` and `results` are the names of those tensors.
template <const char *images, const char *results>
std::string checkConvOf(Shapes s) {
  return checkConv(s, *s.tensor(images), *s.tensor(results));
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
  return checkWindows(*s.spec, *s.tensor(images), *s.tensor(pooled),
                      s.spec->ints.at("window"), /*roundsUp=*/true);
}

//===----------------------------------------------------------------------===//
// Tokens, dropout, reductions, moves
//===----------------------------------------------------------------------===//

/// Only the rows that are looked up are read.
uint64_t embeddingBytes(Shapes s) {
  return s.tensor("ids")->bytes() + 2 * s.tensor("y")->bytes();
}

uint64_t embeddingGradFlops(Shapes s) { return s.elements("dy"); }
uint64_t logitsFlops(Shapes s) { return 4 * s.elements("logits"); }

std::string checkEmbedding(Shapes s) {
  return checkCount(s, "num_embeddings", 0, s.size("v"));
}
std::string checkClasses(Shapes s) {
  return checkCount(s, "classes", 1, s.size("n"));
}

enum : int64_t { kSum = 0, kMaximum = 1, kMean = 2 };

std::string checkReduce(Shapes s) {
  const TensorType &x = *s.tensor("x"), &y = *s.tensor("y");
  const int64_t kind = s.spec->integer("kind");
  if (kind < kSum || kind > kMean)
    return "attribute 'kind' is " + std::to_string(kind) +
           ", wanted 0 (sum), 1 (max) or 2 (mean)";
  TensorType wanted{x.type, {}};
  std::vector<bool> reduced(x.shape.size(), false);
  int64_t terms = 1;
  for (int64_t dim : s.spec->ints.at("dims")) {
    if (dim < 0 || dim >= int64_t(x.shape.size()))
      return "attribute 'dims' holds " + std::to_string(dim) +
             ", wanted a dimension of " + describe(x);
    if (!reduced[dim])
      terms *= x.shape[dim];
    reduced[dim] = true;
  }
  for (size_t i = 0; i < x.shape.size(); ++i)
    if (!reduced[i])
      wanted.shape.push_back(x.shape[i]);
  if (!(y == wanted))
    return "y is " + describe(y) + ", wanted " + describe(wanted);
  if (kind != kSum && terms == 0)
    return "a maximum or mean over no elements of " + describe(x);
  return {};
}

/// What is read, and then written: no more than the slice.
uint64_t sliceBytes(Shapes s) { return 2 * s.tensor("y")->bytes(); }

} // namespace

const std::vector<KernelSchema> &zrt::builtInKernelSchemas() {
  static const std::vector<KernelSchema> schemas = {
      {"launch", "x*:any[..] -> y*:any[..]"},
      // Convolutions and pooling.
      {"nn.conv",
       "x:T[n,u.i,s..] w:T[u.m,i,k..] -> y:T[n,u.m,o..] | parallel n u m, sum "
       "i, "
       "linear x w",
       "strides:ints padding:ints dilations:ints groups:int[u]", convFlops,
       nullptr, checkConvOf<kX, kY>},
      {"nn.conv_transpose",
       "x:T[n,u.m,o..] w:T[u.m,i,k..] -> y:T[n,u.i,s..] | parallel n u i, sum "
       "m, "
       "linear x w",
       "strides:ints padding:ints dilations:ints groups:int[u]", convFlops,
       nullptr, checkConvOf<kY, kX>},
      {"nn.conv_weight_grad",
       "dy:T[n,u.m,o..] x:T[n,u.i,s..] -> dw:T[u.m@rows,i,k..] | parallel u m "
       "i, "
       "sum n, linear dy x",
       "strides:ints padding:ints dilations:ints groups:int[u] rows:range?",
       convFlops, nullptr, checkConvOf<kX, kDy>},
      {"nn.max_pool", "x:T[n,c,s..] -> y:T[n,c,o..] | parallel n c",
       "window:ints strides:ints padding:ints dilations:ints", poolFlops<kY>,
       nullptr, checkPool<kX, kY>},
      {"nn.max_pool_grad",
       "dy:T[n,c,o..] x:T[n,c,s..] -> dx:T[n,c,s..] | parallel n c, linear dy",
       "window:ints strides:ints padding:ints dilations:ints", poolFlops<kDy>,
       nullptr, checkPool<kX, kDy>},
      {"nn.avg_pool", "x:T[n,c,s..] -> y:T[n,c,o..] | parallel n c, linear x",
       "window:ints strides:ints padding:ints count_padding:flag",
       poolFlops<kY>, nullptr, checkPool<kX, kY>},
      {"nn.avg_pool_grad",
       "dy:T[n,c,o..] -> dx:T[n,c,s..] | parallel n c, linear dy",
       "window:ints strides:ints padding:ints count_padding:flag",
       poolFlops<kDy>, nullptr, checkPool<kDx, kDy>},
// Normalisations and softmax, gated activations, dropout, tokens.
#include "zero/Dialect/NN/NNActivationRows.inc"
#include "zero/Dialect/NN/NNAddedNormRows.inc"
#include "zero/Dialect/NN/NNBatchNormRows.inc"
#include "zero/Dialect/NN/NNNormalizationRows.inc"
#include "zero/Dialect/NN/NNTokenRows.inc"
      // Shapes. What lists say is compared where the moves are planned.
      {"nn.reduce", "x:T[..] -> y:T[..]", "kind:int dims:ints", each<1>,
       nullptr, checkReduce},
      {"nn.broadcast", "x:E[..] -> y:E[..]", "dims:ints"},
      {"nn.transpose", "x:E[..] -> y:E[..]", "permutation:ints"},
      {"nn.split", "x:E[..] -> y*:E[..]", "dim:int"},
      {"tensor.concat", "x*:E[..] -> y:E[..]", "dim:int"},
      {"tensor.extract_slice", "x:E[..] -> y:E[..]",
       "offsets:ints sizes:ints strides:ints", nullptr, sliceBytes},
      {"tensor.insert_slice", "x:E[..] into:E[w..] -> y:E[w..]",
       "offsets:ints sizes:ints strides:ints"},
      {"tensor.pad", "x:E[..] -> y:E[..]", "low:ints high:ints value:real"},
      {"tensor.splat", "x?:E[] -> y:E[..]", "value:real"},
  };
  return schemas;
}
