//===- GradientReferenceMain.cpp - prints docs/reference/Gradients.md -----===//
//
// What operations have a gradient: asked of the operations that the dialects
// register, so that the page names what the compiler differentiates.
//
//===----------------------------------------------------------------------===//

#include "zero/Interfaces/Interfaces.h"
#include "zero/Registration/Registration.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace {

constexpr const char *kHeader =
    R"(<!-- Written by tools/generate-docs from the operations that are registered. -->
# Operations that have a gradient

A loss may depend on trainable parameters through these operations, of tensors of
static shape. Any other operation on such a path is an error at that operation;
what computes with integers alone, or from data and constants, needs no gradient.
Comparisons, classifications, roundings and conversions to and from integers have
the gradient zero: nothing flows back through them. Where two operands of a maximum
or minimum are equal, the whole gradient goes to the first; `math.absf` has the
gradient zero at zero; `math.clampf` passes the gradient on at a bound.

Elementwise operations are compiled into kernels together with their neighbours;
for a GPU, some functions of `math` have no code, which is an error there. What
`tensor` operations need so that they run is in
[Passes.md](Passes.md#-zero-rewrite-tensor-ops).
)";

void printNames(StringRef title, ArrayRef<StringRef> names) {
  if (names.empty())
    return;
  llvm::outs() << "\n" << title << "\n\n";
  for (StringRef name : names)
    llvm::outs() << "- `" << name << "`\n";
}

/// The operations of one dialect, those with and without a gradient.
void printDialect(MLIRContext &context, StringRef dialect) {
  SmallVector<StringRef> with, without;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != dialect)
      continue;
    bool has = name.hasInterface<zero::DifferentiableOpInterface>();
    (has ? with : without).push_back(name.getStringRef());
  }
  llvm::sort(with);
  llvm::sort(without);
  llvm::outs() << "\n## " << dialect << "\n";
  printNames("With a gradient:", with);
  // What nn has besides are the gradients themselves.
  if (dialect != "nn")
    printNames("Without one:", without);
}

} // namespace

int main() {
  DialectRegistry registry;
  zero::registerDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  llvm::outs() << kHeader;
  for (StringRef dialect : {"arith", "math", "tensor", "nn"})
    printDialect(context, dialect);
  return 0;
}
