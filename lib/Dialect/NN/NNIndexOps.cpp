//===- NNIndexOps.cpp - constraints of gathers, sorts, grouped products ---===//

#include "Verification.h"

using namespace mlir;
using namespace mlir::nn;
using namespace mlir::nn::detail;

using zero::KernelDescription;

/// `dim` is a dimension of `value`.
static LogicalResult checkDim(const Checker &check, StringRef name, Value value,
                              int64_t dim) {
  int64_t rank = typeOf(value).getRank();
  if (dim >= 0 && dim < rank)
    return success();
  return check.error("dim is " + Twine(dim) + ", wanted one of the " +
                     Twine(rank) + " dimensions of " + name);
}

/// `ids` has the dimensions `shape`, or those up to and with `dim`; at `dim` it
/// may have any size where `any` is set.
static LogicalResult checkIds(const Checker &check, Value ids,
                              ArrayRef<int64_t> shape, int64_t dim, bool any) {
  ArrayRef<int64_t> found = typeOf(ids).getShape();
  SmallVector<int64_t> wanted(shape);
  if (any && static_cast<int64_t>(found.size()) > dim)
    wanted[dim] = found[dim];
  ArrayRef<int64_t> rows = ArrayRef(wanted).take_front(dim + 1);
  if (found == ArrayRef(wanted) || found == rows)
    return success();
  std::string list = toString(rows);
  if (rows.size() < wanted.size())
    list += " or " + toString(wanted);
  return check.error("ids has shape " + toString(found) + ", wanted " + list +
                     (any ? ", with any size at dim" : ""));
}

//===----------------------------------------------------------------------===//
// gather, scatter
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::verify() {
  Checker check(*this);
  auto dim = static_cast<int64_t>(getDim());
  RankedTensorType x = typeOf(getX());
  if (failed(checkDim(check, "x", getX(), dim)) ||                        // C1
      failed(checkIds(check, getIds(), x.getShape(), dim, /*any=*/true))) // C2
    return failure();
  SmallVector<int64_t> shape(x.getShape());
  shape[dim] = typeOf(getIds()).getDimSize(dim);
  return check.type("y", getY(), x.clone(shape)); // C3
}

/// `x` has the type of `whole` but for its size at `dim`.
static LogicalResult checkPart(const Checker &check, Value x, Value whole,
                               int64_t dim) {
  RankedTensorType type = typeOf(whole);
  if (failed(check.rank("x", x, type.getRank())))
    return failure();
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = typeOf(x).getDimSize(dim);
  return check.type("x", x, type.clone(shape));
}

LogicalResult ScatterAddOp::verify() {
  Checker check(*this);
  auto dim = static_cast<int64_t>(getDim());
  if (failed(checkDim(check, "the result", getY(), dim))) // C1
    return failure();
  RankedTensorType y = typeOf(getY());
  if (failed(checkPart(check, getX(), getY(), dim)) ||                 // C2
      failed(checkIds(check, getIds(), typeOf(getX()).getShape(), dim, // C3
                      /*any=*/false)))
    return failure();
  if (getInit() && failed(check.type("init", getInit(), y))) // C4
    return failure();
  if (!getRows()) // C5
    return success();
  ArrayRef<int64_t> rows = *getRows();
  if (failed(check.rows(rows)))
    return failure();
  if (dim != 0)
    return check.error("rows are given with dim " + Twine(dim) +
                       ", wanted them with dim 0");
  if (rows[1] - rows[0] != y.getDimSize(0))
    return check.error("result has " + Twine(y.getDimSize(0)) +
                       " rows, wanted " + Twine(rows[1] - rows[0]));
  return success();
}

LogicalResult ScatterOp::verify() {
  Checker check(*this);
  auto dim = static_cast<int64_t>(getDim());
  if (failed(checkDim(check, "into", getInto(), dim)) ||               // C1
      failed(checkPart(check, getX(), getInto(), dim)) ||              // C2
      failed(checkIds(check, getIds(), typeOf(getX()).getShape(), dim, // C3
                      /*any=*/false)) ||
      failed(check.type("y", getY(), typeOf(getInto())))) // C4
    return failure();
  Type element = typeOf(getX()).getElementType();
  if (getKind() == Scatter::Max && !isa<FloatType>(element)) { // C5
    std::string found;
    llvm::raw_string_ostream(found) << element;
    return check.error("x has elements of " + found +
                       ", wanted floats to take the largest of");
  }
  return success();
}

/// The enumeration is the dialect's; the kernel takes its number.
KernelDescription ScatterOp::describeKernel() {
  KernelDescription kernel;
  kernel.name = getOperationName().str();
  kernel.ints.emplace_back(
      "kind", SmallVector<int64_t>{static_cast<int64_t>(getKind())});
  kernel.ints.emplace_back(
      "dim", SmallVector<int64_t>{static_cast<int64_t>(getDim())});
  return kernel;
}

//===----------------------------------------------------------------------===//
// argsort, cumsum, random_normal
//===----------------------------------------------------------------------===//

LogicalResult ArgsortOp::verify() {
  Checker check(*this);
  if (failed(check.minimumRank("x", getX(), 1))) // C1
    return failure();
  RankedTensorType x = typeOf(getX());
  SmallVector<int64_t> shape(x.getShape());
  if (std::optional<uint64_t> first = getFirst()) { // C2
    auto count = static_cast<int64_t>(*first);
    if (count < 1 || count > shape.back())
      return check.error("first is " + Twine(count) +
                         ", wanted one from 1 to " + Twine(shape.back()) +
                         ", the last dimension of x");
    shape.back() = count;
  }
  return check.shape("order", getOrder(), shape); // C3
}

LogicalResult CumsumOp::verify() {
  return checkDim(Checker(*this), "x", getX(),
                  static_cast<int64_t>(getDim())); // C1
}

LogicalResult RandomNormalOp::verify() {
  Checker check(*this);
  if (failed(check.minimumRank("result", getY(), 1))) // C1
    return failure();
  auto id = static_cast<int64_t>(getId());
  if (id < 0) // C2
    return check.error("id is " + Twine(id) + ", wanted 0 or more");
  return success();
}

//===----------------------------------------------------------------------===//
// grouped products
//===----------------------------------------------------------------------===//

LogicalResult GroupedMatmulOp::verify() {
  Checker check(*this);
  if (failed(check.rank("a", getA(), 2)) || failed(check.rank("b", getB(), 3)))
    return failure(); // C1
  RankedTensorType a = typeOf(getA()), b = typeOf(getB());
  int64_t k = b.getDimSize(getTransposeB() ? 2 : 1);
  if (a.getDimSize(1) != k) // C2
    return check.error("a has " + Twine(a.getDimSize(1)) + " columns, wanted " +
                       Twine(k) + ", the K of b");
  if (failed(check.shape("offsets", getOffsets(), {b.getDimSize(0)})) || // C3
      failed(check.element("b", getB(), a.getElementType())))
    return failure();
  return check.type(
      "c", getC(), // C4
      a.clone({a.getDimSize(0), b.getDimSize(getTransposeB() ? 1 : 2)}));
}

LogicalResult GroupedMatmulGradOp::verify() {
  Checker check(*this);
  if (failed(check.rank("a", getA(), 2)) || failed(check.rank("b", getB(), 2)))
    return failure(); // C1
  RankedTensorType a = typeOf(getA()), b = typeOf(getB());
  if (a.getDimSize(0) != b.getDimSize(0)) // C2
    return check.error("b has " + Twine(b.getDimSize(0)) + " rows, wanted " +
                       Twine(a.getDimSize(0)) + ", those of a");
  if (failed(check.rank("offsets", getOffsets(), 1)) || // C3
      failed(check.element("b", getB(), a.getElementType())))
    return failure();
  int64_t groups = typeOf(getOffsets()).getDimSize(0);
  if (getRows() && failed(check.rows(*getRows(), groups))) // C5
    return failure();
  if (getRows())
    groups = (*getRows())[1] - (*getRows())[0];
  return check.type("d", getD(), // C4
                    a.clone({groups, a.getDimSize(1), b.getDimSize(1)}));
}
