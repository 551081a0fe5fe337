//===- Verification.cpp - checks that nn verifiers share ------------------===//

#include "Verification.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::nn::detail;

static std::string toString(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

std::string mlir::nn::detail::toString(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << '[';
  llvm::interleaveComma(shape, stream);
  stream << ']';
  return text;
}

LogicalResult Checker::error(const Twine &message) const {
  return op->emitOpError(message);
}

LogicalResult Checker::rank(StringRef name, Value value, int64_t wanted) const {
  int64_t found = typeOf(value).getRank();
  if (found == wanted)
    return success();
  return error(name + " has rank " + Twine(found) + ", wanted " +
               Twine(wanted));
}

LogicalResult Checker::shape(StringRef name, Value value,
                             ArrayRef<int64_t> wanted) const {
  ArrayRef<int64_t> found = typeOf(value).getShape();
  if (found == wanted)
    return success();
  return error(name + " has shape " + toString(found) + ", wanted " +
               toString(wanted));
}

LogicalResult Checker::element(StringRef name, Value value, Type wanted) const {
  Type found = typeOf(value).getElementType();
  if (found == wanted)
    return success();
  return error(name + " has element type " + ::toString(found) + ", wanted " +
               ::toString(wanted));
}

LogicalResult Checker::type(StringRef name, Value value,
                            RankedTensorType wanted) const {
  if (value.getType() == wanted)
    return success();
  return error(name + " has type " + ::toString(value.getType()) + ", wanted " +
               ::toString(wanted));
}

LogicalResult Checker::rows(ArrayRef<int64_t> range,
                            std::optional<int64_t> extent,
                            StringRef what) const {
  if (range.size() == 2 && range[0] >= 0 && range[0] < range[1] &&
      range[1] <= extent.value_or(range[1]))
    return success();
  std::string most = extent ? " <= " + std::to_string(*extent) : "";
  return error(what + " are " + toString(range) +
               ", wanted [begin, end] with 0 <= begin < end" + most);
}

LogicalResult Checker::dims(ArrayRef<int64_t> dims, int64_t rank) const {
  int64_t previous = -1;
  for (int64_t dim : dims) {
    if (dim <= previous || dim >= rank)
      return error("dims are " + toString(dims) +
                   ", wanted strictly increasing ones from 0 to " +
                   Twine(rank - 1));
    previous = dim;
  }
  return success();
}
