// The kernels of `nn` and of upstream's `tensor` that reduce, repeat, permute,
// cut and join: what lists of dimensions and sizes say of shapes is here.
#include "program/KernelPattern.h"
#include "program/Workspaces.h"

using namespace zrt;

namespace {

using Shapes = const KernelShapes &;
using Sizes = std::vector<int64_t>;

std::string checkType(const std::string &name, const TensorType &found,
                      const TensorType &wanted) {
  return found == wanted
             ? ""
             : name + " is " + describe(found) + ", wanted " + describe(wanted);
}

/// The attribute `dims` has dimensions of the tensor `name`.
std::string checkDims(Shapes s, const char *name) {
  const Sizes &dims = s.spec->ints.at("dims");
  const TensorType &type = *s.tensor(name);
  int64_t previous = -1;
  for (int64_t dim : dims) {
    if (dim <= previous || dim >= int64_t(type.shape.size()))
      return "attribute 'dims' is " + listText(dims) +
             ", wanted strictly increasing dimensions of " + name + ", " +
             describe(type);
    previous = dim;
  }
  return {};
}

/// The result has the dimensions that are not in `dims`.
std::string checkReduce(Shapes s) {
  if (std::string wrong = checkDims(s, "x"); !wrong.empty())
    return wrong;
  const TensorType &x = *s.tensor("x");
  const Sizes &dims = s.spec->ints.at("dims");
  const auto kind = s.spec->kind<ReduceKind>();
  TensorType wanted{x.type, {}};
  auto reduced = dims.begin();
  for (size_t i = 0; i < x.shape.size(); ++i) {
    if (reduced == dims.end() || *reduced != int64_t(i)) {
      wanted.shape.push_back(x.shape[i]);
      continue;
    }
    ++reduced;
    if (x.shape[i] == 0 && kind != ReduceKind::Sum)
      return "dimension " + std::to_string(i) +
             " of x is empty, wanted an element to take the " + nameOf(kind) +
             " of";
  }
  return checkType("y", *s.tensor("y"), wanted);
}

/// Dimension i of `x` is dimension `dims[i]` of the result.
std::string checkBroadcast(Shapes s) {
  if (std::string wrong = checkDims(s, "y"); !wrong.empty())
    return wrong;
  const TensorType &x = *s.tensor("x"), &y = *s.tensor("y");
  const Sizes &dims = s.spec->ints.at("dims");
  TensorType wanted = y;
  for (size_t i = 0; i < dims.size(); ++i)
    wanted.shape[dims[i]] = x.shape[i];
  return checkType("y", y, wanted);
}

std::string checkTranspose(Shapes s) {
  const TensorType &x = *s.tensor("x");
  const Sizes &permutation = s.spec->ints.at("permutation");
  const size_t rank = permutation.size();
  TensorType wanted{x.type, {}};
  std::vector<bool> isTaken(rank, false);
  for (int64_t dim : permutation) {
    if (dim < 0 || dim >= int64_t(rank) || isTaken[dim])
      return "attribute 'permutation' is " + listText(permutation) +
             ", wanted each of the " + std::to_string(rank) +
             " dimensions of x once";
    isTaken[dim] = true;
    wanted.shape.push_back(x.shape[dim]);
  }
  return checkType("y", *s.tensor("y"), wanted);
}

/// Piece i of `whole` has `sizes[i]` elements along `dim`.
std::string checkPieces(const std::vector<TensorType> &pieces, TensorType whole,
                        const Sizes &sizes, int64_t dim) {
  for (size_t i = 0; i < pieces.size(); ++i) {
    whole.shape[dim] = sizes[i];
    if (std::string wrong =
            checkType("piece " + std::to_string(i), pieces[i], whole);
        !wrong.empty())
      return wrong;
  }
  return {};
}

std::string checkSplit(Shapes s) {
  const Sizes &sizes = s.spec->ints.at("sizes");
  bool isPositive = !sizes.empty();
  int64_t sum = 0;
  for (int64_t size : sizes) {
    isPositive &= size > 0;
    sum += size;
  }
  if (!isPositive || sum != s.size("p"))
    return "attribute 'sizes' is " + listText(sizes) +
           ", wanted positive ones with the sum " + std::to_string(s.size("p"));
  const std::vector<TensorType> &pieces = s.spec->results;
  if (pieces.size() != sizes.size())
    return "has " + std::to_string(pieces.size()) +
           " results, wanted one for each of the sizes " + listText(sizes);
  return checkPieces(pieces, *s.tensor("x"), sizes, s.spec->integer("dim"));
}

/// Sizes are those that the pieces have.
std::string checkConcat(Shapes s) {
  const TensorType &whole = *s.tensor("y");
  const size_t dim = s.spec->integer("dim");
  Sizes sizes;
  int64_t sum = 0;
  for (const TensorType &piece : s.spec->operands) {
    sizes.push_back(piece.shape.size() > dim ? piece.shape[dim] : 0);
    sum += sizes.back();
  }
  if (std::string wrong =
          checkPieces(s.spec->operands, whole, sizes, int64_t(dim));
      !wrong.empty())
    return wrong;
  return sum == s.size("p")
             ? ""
             : "the pieces have " + std::to_string(sum) +
                   " elements along dimension " + std::to_string(dim) +
                   ", wanted those of " + describe(whole);
}

/// The slice of the tensor `name` is `part`, perhaps without dimensions of 1.
std::string checkSlice(Shapes s, const char *name, const TensorType &part) {
  const TensorType &whole = *s.tensor(name);
  const Sizes &offsets = s.spec->ints.at("offsets"),
              &sizes = s.spec->ints.at("sizes"),
              &steps = s.spec->ints.at("strides");
  int64_t elements = 1;
  for (size_t i = 0; i < whole.shape.size(); ++i) {
    const int64_t last = offsets[i] + (sizes[i] - 1) * steps[i];
    if (sizes[i] > 0 && (offsets[i] < 0 || offsets[i] >= whole.shape[i] ||
                         last < 0 || last >= whole.shape[i]))
      return "the slice leaves dimension " + std::to_string(i) + " of " +
             describe(whole) + ": it reaches from " +
             std::to_string(offsets[i]) + " to " + std::to_string(last);
    elements *= sizes[i];
  }
  return elements == part.elements()
             ? ""
             : "the slice has " + std::to_string(elements) +
                   " elements, wanted those of " + describe(part);
}

std::string checkExtract(Shapes s) {
  return checkSlice(s, "x", *s.tensor("y"));
}
std::string checkInsert(Shapes s) {
  return checkSlice(s, "into", *s.tensor("x"));
}

std::string checkPad(Shapes s) {
  const Sizes &low = s.spec->ints.at("low"), &high = s.spec->ints.at("high");
  TensorType wanted = *s.tensor("x");
  for (size_t i = 0; i < low.size(); ++i) {
    if (low[i] < 0 || high[i] < 0)
      return "the padding of dimension " + std::to_string(i) +
             " is negative; cut with tensor.extract_slice";
    wanted.shape[i] += low[i] + high[i];
  }
  return checkType("y", *s.tensor("y"), wanted);
}

/// What is read, and then written: no more than the slice.
uint64_t sliceBytes(Shapes s) { return 2 * s.tensor("y")->bytes(); }

} // namespace

const std::vector<KernelSchema> &zrt::shapeKernelSchemas() {
  static const std::vector<KernelSchema> schemas = {
#include "zero/Dialect/NN/NNShapeRows.inc"
      {"tensor.concat", "x*:E[..] -> y:E[o..dim,p,i..]", "dim:int", nullptr,
       nullptr, checkConcat},
      {"tensor.extract_slice", "x:E[r..] -> y:E[..]",
       "offsets:ints[r] sizes:ints[r] strides:ints[r]", nullptr, sliceBytes,
       checkExtract},
      {"tensor.insert_slice", "x:E[..] into:E[r..] -> y:E[r..]",
       "offsets:ints[r] sizes:ints[r] strides:ints[r]", nullptr, nullptr,
       checkInsert},
      {"tensor.pad", "x:E[r..] -> y:E[s..r]",
       "low:ints[r] high:ints[r] value:real", nullptr, nullptr, checkPad},
      {"tensor.splat", "x?:E[] -> y:E[..]", "value:real"},
  };
  return schemas;
}
