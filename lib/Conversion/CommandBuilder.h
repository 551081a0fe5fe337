//===- CommandBuilder.h - operations of a region as commands --------------===//
#ifndef ZERO_LIB_CONVERSION_COMMANDBUILDER_H
#define ZERO_LIB_CONVERSION_COMMANDBUILDER_H

#include "KernelTable.h"

#include "zero/Analysis/Handles.h"
#include "zero/Analysis/Mesh.h"
#include "zero/Dialect/Zero/Zero.h"
#include "zero/Interfaces/Interfaces.h"
#include "zero/Kernels/KernelSpecs.h"
#include "zero/Memory/StatePlan.h"

#include "program/Control.h"
#include "program/Program.h"

namespace mlir::zero {

/// `op`'s place in the source, `file:line:column`; empty where it is unknown.
std::string describeLocation(Operation *op);

/// Which groups of the program's mesh have a part in training.
struct MeshGroups {
  /// Over which states are cut.
  uint32_t cut = zrt::kAllRanks;
  /// Ranks that hold the same slices; `kAllRanks` where there are none.
  uint32_t replicas = zrt::kAllRanks;
};
MeshGroups groupsOf(const MeshAxes &mesh);
/// The mesh as the runtime has it: without axes where it is a line.
zrt::Mesh describeMesh(const MeshAxes &mesh);
/// The group of these axes of `mesh` in what the runtime has, made for the
/// first that asks; null for all ranks.
uint32_t numberOf(AxesAttr axes, const MeshAxes &mesh, zrt::Mesh &described);

/// Which stage a module is, in which order it makes the passes of an update,
/// and the slots of its stash. \pre The mesh has an axis of stages, and memory
/// is planned.
zrt::Pipeline describePipeline(StepOp step, const MeshAxes &mesh);

/// A place as the runtime's reference; what has a stride lies over `group`.
zrt::BufferRef toBufferRef(AtAttr place, uint32_t group = zrt::kAllRanks);

/// Numbers of starts, in all regions: a wait may be in another one.
class Tickets {
public:
  uint32_t number(Operation *start) {
    auto [known, isNew] = numbers.try_emplace(start, next);
    next += isNew;
    return known->second;
  }
  /// One for what no other operation waits for.
  uint32_t take() { return next++; }

private:
  DenseMap<Operation *, uint32_t> numbers;
  uint32_t next = 0;
};

/// Makes the commands of one region.
class CommandBuilder {
public:
  CommandBuilder(zrt::Program &program, const StatePlaces &state, StepOp step,
                 const DenseMap<StringRef, int32_t> &partitionNumbers,
                 KernelTable &kernels, const Handles &handles,
                 Tickets &tickets);

  /// Notes the index of each operation's first command in `firstCommands`
  /// where that is not null.
  LogicalResult build(Block &block, zrt::Region &region,
                      DenseMap<Operation *, size_t> *firstCommands);

private:
  // CommandBuilder.cpp: kernels.
  LogicalResult visit(Operation &op);
  LogicalResult visitUpdateCommand(Operation &op);
  LogicalResult visitKernel(Operation &op, zrt::KernelSpec spec);
  void addStridedKernel(StridedOp op, zrt::KernelSpec spec);
  LogicalResult visitConstant(Operation &op);
  void visitSecondarySlice(SecondarySliceOp slice);
  LogicalResult visitSliceValue(SliceValueOp slice);
  void visitAccumulate(AccumulateOp accumulate);
  void accumulateOwned(AccumulateOp accumulate, PartitionOp partition);
  void visitYield(YieldOp yield);

  // CollectiveCommands.cpp.
  LogicalResult visitStart(AsyncOpInterface start);
  LogicalResult startCollective(CollectiveOpInterface op,
                                ArrayRef<AsyncBuffer> buffers);
  LogicalResult visitWait(WaitOp wait);
  void endCollective(Operation *start, Operation *wait);
  /// Kernels before a start, of buffers that pack others, and after its wait,
  /// of those that others are unpacked to.
  void packBuffers(AsyncOpInterface start, ArrayRef<AsyncBuffer> buffers,
                   ArrayRef<AtAttr> places);
  zrt::KernelSpec describeUnpacking(const AsyncBuffer &packed,
                                    const AsyncBuffer &whole);
  void unpackBuffers(AsyncOpInterface start, Operation *wait,
                     ArrayRef<AsyncBuffer> buffers, ArrayRef<AtAttr> places);
  /// Copies operands that are not produced in the buffer that the operation
  /// works on, and clears what they leave of it.
  void fillBuffer(AsyncOpInterface op, const AsyncBuffer &buffer, AtAttr place);
  /// A place as commands have it.
  zrt::BufferRef referTo(AtAttr place) {
    return toBufferRef(
        place, place.getOver() ? numberOf(place.getOver(), mesh, program.mesh)
                               : groups.cut);
  }
  /// The bytes that travel, of a buffer of `op`.
  zrt::BufferRef refer(Operation *op, const AsyncBuffer &buffer, AtAttr place,
                       const BufferSlice &slice);
  // PipelineCommands.cpp.
  void visitStash(StashOp stash);
  LogicalResult startTransfer(AsyncOpInterface start,
                              ArrayRef<AsyncBuffer> buffers);
  zrt::Command &newTransfer(Operation *op, int64_t stage, bool isSend,
                            const zrt::BufferRef &buffer, int64_t elements,
                            zrt::DataType type, std::string label);
  uint32_t exchangeWith(Operation *op, int64_t stage, bool isSend,
                        const zrt::BufferRef &buffer, int64_t elements,
                        const std::string &value);
  void tieRun(TieGradientsOp tie, ArrayRef<int64_t> stages,
              const zrt::BufferRef &own, ArrayRef<zrt::BufferRef> received,
              int64_t elements);
  void tieGradients(TieGradientsOp tie, ArrayRef<AsyncBuffer> buffers);
  // TierCommands.cpp.
  LogicalResult startTierOp(AsyncOpInterface start,
                            ArrayRef<AsyncBuffer> buffers);
  /// Copies between `pieces`, one after the other in `staging`, and their
  /// places.
  void copyPieces(AsyncOpInterface start, ArrayRef<AsyncBuffer> pieces,
                  ArrayRef<AtAttr> places, AtAttr staging, bool toStaging);
  void updateOnHost(UpdateOnHostOp update, ArrayRef<AsyncBuffer> buffers,
                    ArrayRef<AtAttr> places);
  // UpdateCommands.cpp.
  void visitGradStats(GradStatsOp stats);
  void visitJudge(JudgeOp judge);
  void visitUpdate(UpdateOp update);

  /// Adds a kernel command; equal kernels are shared.
  zrt::Command &addKernel(Operation *op, zrt::KernelSpec spec,
                          std::vector<zrt::BufferRef> buffers,
                          std::string label);
  /// A kernel on flat ranges: one operand type a buffer.
  zrt::Command &addFlatKernel(Operation *op, StringRef name,
                              ArrayRef<AtAttr> places, ArrayRef<Type> types,
                              zrt::KernelSpec spec = {});
  zrt::Command &newCommand(Operation *op, std::string label);
  void record(Operation &op);
  AtAttr placeOf(Value value) const { return places.lookup(value); }

  zrt::Program &program;
  const StatePlaces &state;
  StepOp step;
  const DenseMap<StringRef, int32_t> &partitionNumbers;
  KernelTable &kernels;
  const Handles &handles;
  Tickets &tickets;
  SymbolTableCollection symbols;
  MeshAxes mesh;
  MeshGroups groups;
  zrt::Region *region = nullptr;
  DenseMap<Value, AtAttr> places;
};

/// A contiguous run of a partition's states that this rank updates: elements
/// [begin, end) of the flat space (of which a rank owns one slice when
/// `isSlice`), with their place in each state.
struct OwnedPiece {
  int64_t begin = 0, end = 0;
  bool isSlice = false;
  /// Elements of this rank.
  int64_t elements = 0;
  /// Index of the first element among what the rank stores.
  int64_t base = 0;
};

/// The pieces of segments [begin, end) of `partition` that one rank owns, in
/// order.
SmallVector<OwnedPiece> getOwnedPieces(PartitionOp partition, int64_t begin,
                                       int64_t end);

} // namespace mlir::zero

#endif // ZERO_LIB_CONVERSION_COMMANDBUILDER_H
