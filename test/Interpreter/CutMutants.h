//===- CutMutants.h - models that are cut wrongly ---------------*- C++ -*-===//
//
// Changes of what one rank computes, each in one place: exchanges that are
// missing, doubled, of other groups, dimensions or pieces, behind what reads
// them, or where there were none.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_INTERPRETER_CUTMUTANTS_H
#define ZERO_TEST_INTERPRETER_CUTMUTANTS_H

#include "zero/Dialect/Zero/Zero.h"

#include <functional>
#include <string>
#include <vector>

namespace mlir::zero {

struct CutMutant {
  std::string name;
  /// Changes a copy of the module that the mutant was made for.
  std::function<void(ModuleOp)> change;
};

/// Mutants of a model that is cut, or of one that is differentiated as well.
/// `other`: axes that the model is not cut over.
std::vector<CutMutant> listCutMutants(ModuleOp module, AxesAttr other);

/// Mutants that add up what ranks have of a value where nothing does; some
/// change nothing, as where that is zero.
std::vector<CutMutant> listNeedlessSums(ModuleOp module);

/// Mutants by other numbers: where ranges of ranks begin, segments of what is
/// cut, and the labels that count.
std::vector<CutMutant> listNumberMutants(ModuleOp module);

/// Whether a slice says which elements an evaluation would drop, which drops
/// none.
bool isOfDropout(Operation *op);

} // namespace mlir::zero

#endif // ZERO_TEST_INTERPRETER_CUTMUTANTS_H
