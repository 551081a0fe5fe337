//===- CutPrograms.h - random models over axes that cut them ----*- C++ -*-===//
//
// Models over meshes with axes `tensor`, `sequence` and `expert`, and `pipe`
// beside them. What ranks compute of a model is run in lockstep, in f64, and is
// the model; of its mutants some are drawn, and what the proof of values
// accepts is the model as well.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_RANDOM_CUTPROGRAMS_H
#define ZERO_TEST_RANDOM_CUTPROGRAMS_H

#include "Tally.h"

#include "mlir/Support/LLVM.h"

#include "llvm/ADT/StringRef.h"

#include <random>
#include <string>
#include <utility>

namespace mlir::zero::test {

/// Axes of a mesh, by name and size, in their order.
using AxisSizes = SmallVector<std::pair<StringRef, int64_t>>;

/// The mesh that options of zero-pipeline name; none where they name none.
AxisSizes readMesh(StringRef options);

/// Whether it has an axis of stages.
bool hasStages(const AxisSizes &mesh);

/// Whether an axis of the mesh cuts the model itself.
bool cutsModel(const AxisSizes &mesh);

class CutPrograms {
public:
  explicit CutPrograms(size_t mutants) : mutantsEach(mutants) {}

  /// Returns false where something was found, which it prints.
  bool run(const std::string &path, const AxisSizes &mesh);
  void report() const;

private:
  bool runCut(const std::string &path, const AxisSizes &mesh);
  bool runStages(const std::string &path, const AxisSizes &mesh);

  const size_t mutantsEach;
  std::minstd_rand random{5};
  Tally cuts, stages;
};

} // namespace mlir::zero::test

#endif // ZERO_TEST_RANDOM_CUTPROGRAMS_H
