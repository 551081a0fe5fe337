//===- Mutants.h - every small change of a schedule -----------------------===//
#ifndef ZERO_TEST_VERIFY_MUTANTS_H
#define ZERO_TEST_VERIFY_MUTANTS_H

#include "zero/Dialect/Zero/Zero.h"

#include <functional>
#include <string>
#include <vector>

namespace mlir::zero {

/// One change of one operation of a schedule, made on a copy.
struct Mutant {
  std::string kind, text;
  unsigned operation = 0; ///< by position in `listOperations`
  std::function<void(Operation *)> apply;
};

/// Whether `op` is one that the passes of a schedule insert, or a fact.
bool isScheduleOperation(Operation *op);
/// Whether `op` is what proof rests on: it says which parameter a gathered
/// value is read as, or whose gradient a value is.
bool isFact(Operation *op);

/// The mesh, the partitions and the operations of the step, in the order in
/// which mutants count them.
std::vector<Operation *> listOperations(ModuleOp module);

/// For every operation of the schedule: deleted, doubled, moved to every other
/// place of its block, with other operands, ranges, partitions, parameters,
/// forms and flags; facts also dropped and swapped. On a mesh, the axes that
/// the mesh and partitions name are others.
std::vector<Mutant> generateMutants(ModuleOp module);

/// The partitions of the module, in their order.
std::vector<PartitionOp> listPartitions(ModuleOp module);

/// For every partition, numbered as `listPartitions` does: another stage,
/// layout and group, other segments, members and types, and no optimizer.
/// States are changed in MemoryMutantTest.cpp.
std::vector<Mutant> generatePartitionMutants(ModuleOp module);

} // namespace mlir::zero

#endif // ZERO_TEST_VERIFY_MUTANTS_H
