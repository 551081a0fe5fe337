//===- ZeroMesh.cpp - axes of a mesh of ranks -----------------------------===//

#include "zero/Dialect/Zero/Zero.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "program/Mesh.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::zero;

/// The name of the axis where no mesh is named.
static constexpr StringRef kLine = "data";

Attribute AxesAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() ||
        parser.parseInteger(sizes.emplace_back()))
      return failure();
    names.push_back(StringAttr::get(parser.getContext(), name));
    return success();
  };
  SMLoc place = parser.getCurrentLocation();
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater,
                                     parseAxis))
    return {};
  return getChecked([&] { return parser.emitError(place); },
                    parser.getContext(), ArrayRef<StringAttr>(names),
                    ArrayRef<int64_t>(sizes));
}

void AxesAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(llvm::zip_equal(getNames(), getSizes()), printer,
                        [&](auto axis) {
                          auto [name, size] = axis;
                          printer.printKeywordOrString(name.getValue());
                          printer << " = " << size;
                        });
  printer << '>';
}

LogicalResult AxesAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<StringAttr> names,
                               ArrayRef<int64_t> sizes) {
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  if (names.empty() || names.size() != sizes.size())
    return emitError() << "found no axes, wanted at least one"; // (C1)
  llvm::StringSet<> seen;
  int64_t ranks = 1;
  for (auto [name, size] : llvm::zip_equal(names, sizes)) {
    if (name.empty() || !seen.insert(name.getValue()).second)
      return emitError() << "found two axes '" << name.getValue()
                         << "', wanted a name for each";
    if (size < 1)
      return emitError() << "axis '" << name.getValue() << "' has " << size
                         << " ranks, wanted at least 1";
    if (llvm::MulOverflow(ranks, size, ranks) || ranks > most) // (C2)
      return emitError() << "the axes have more than " << most << " ranks";
  }
  return success();
}

AxesAttr AxesAttr::getLine(MLIRContext *context, int64_t ranks) {
  return get(context, StringAttr::get(context, kLine), ranks);
}

bool AxesAttr::isLine() const {
  return getNames().size() == 1 && getNames().front() == kLine;
}

int64_t AxesAttr::getSize() const { return llvm::product_of(getSizes()); }

bool AxesAttr::contains(AxesAttr inner) const {
  size_t next = 0;
  for (auto [name, size] : llvm::zip_equal(getNames(), getSizes()))
    if (next < inner.getNames().size() && inner.getNames()[next] == name &&
        inner.getSizes()[next] == size)
      ++next;
  return next == inner.getNames().size();
}

/// The axes whose name `isIn` takes.
static AxesAttr filter(AxesAttr axes, function_ref<bool(StringAttr)> isIn) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (auto [name, size] : llvm::zip_equal(axes.getNames(), axes.getSizes())) {
    if (!isIn(name))
      continue;
    names.push_back(name);
    sizes.push_back(size);
  }
  return names.empty() ? AxesAttr()
                       : AxesAttr::get(axes.getContext(), names, sizes);
}

AxesAttr AxesAttr::without(AxesAttr inner) const {
  return filter(*this, [&](StringAttr name) {
    return !inner || !llvm::is_contained(inner.getNames(), name);
  });
}

AxesAttr AxesAttr::getModelAxes() const {
  return filter(*this,
                [](StringAttr name) { return zrt::isModelAxis(name.str()); });
}

AxesAttr AxesAttr::getBatchAxes() const { return without(getModelAxes()); }

AxesAttr AxesAttr::getPartAxes() const {
  return filter(*this, [](StringAttr name) {
    return zrt::dividesParameters(name.str());
  });
}

AxesAttr AxesAttr::getStageAxes() const {
  return filter(*this,
                [](StringAttr name) { return zrt::holdsStages(name.str()); });
}

AxesAttr AxesAttr::getStateAxes() const { return without(getPartAxes()); }

int64_t AxesAttr::getIndexIn(AxesAttr group, int64_t rank) const {
  int64_t index = 0, scale = 1;
  for (auto [name, size] :
       llvm::reverse(llvm::zip_equal(getNames(), getSizes()))) {
    if (llvm::is_contained(group.getNames(), name)) {
      index += rank % size * scale;
      scale *= size;
    }
    rank /= size;
  }
  return index;
}
