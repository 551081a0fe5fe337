//===- Traffic.h - what one rank sends in an update -------------*- C++ -*-===//
//
// Two counts of the same traffic: one from the collectives of a schedule, and
// the closed form, from partition tables and from where the step uses
// parameters. They share no figures, so that each can be checked against the
// other.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_ANALYSIS_TRAFFIC_H
#define ZERO_ANALYSIS_TRAFFIC_H

#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Dialect/Zero/Zero.h"

#include "llvm/ADT/MapVector.h"

namespace mlir::zero {

/// The kinds of traffic.
enum class TrafficKind {
  Gradients,          ///< reduced
  QuantizedGradients, ///< the same in packed form, in bytes: between nodes, if
                      ///< they are added up within nodes first
  GradientsWithin,    ///< the same within nodes
  Gathers,            ///< parameters of stage 3, gathered for their uses
  Quantized,          ///< the same in packed form, in bytes
  Regathers,          ///< the same from a secondary partition, within a node
  Refreshes,          ///< parameters that an update changed
  Replicas,      ///< reduced gradients, between ranks that own the same slices
  Activations,   ///< values of the model, exchanged within a group
  Transfers,     ///< the same, sent to a neighbouring stage of a pipeline
  TiedGradients, ///< of what several stages have, sent to each other one
};

/// Elements of one type that travel in one update, all `runs` together. A rank
/// sends (n-1)/n of them in a group of n ranks; those of an all-reduce are
/// counted twice. A rank sends all elements of transfers between stages of a
/// pipeline.
struct TrafficPart {
  TrafficKind kind;
  int64_t elements = 0;
  Type type;
  /// How often the elements travel in an update.
  int64_t runs = 1;
  /// The collective; for the closed form the partition.
  Operation *op = nullptr;
  /// The parameter that is gathered, or refreshed whole.
  StringAttr parameter = {};
};

/// Elements of `parts` of one kind.
int64_t countElements(ArrayRef<TrafficPart> parts, TrafficKind kind);

/// The traffic of a schedule whose reductions, gathers and updates are
/// inserted.
class TrafficAnalysis {
public:
  TrafficAnalysis(ModuleOp module, StepOp step);

  /// The traffic of the schedule's collectives, in order.
  SmallVector<TrafficPart> planned() const;

  /// By sharded parameter, in order: how often the collectives gather or
  /// refresh it in an update, over whatever group.
  llvm::MapVector<StringAttr, int64_t> countGathers() const;

  /// The closed form. A parameter is gathered once for uses that are less than
  /// `maxReuseDistance` elements of used parameters apart (see
  /// zero-insert-gathers); 0 gathers it anew for every use, which is the most.
  /// `padded`: as partitions lie, which is exactly what is sent; otherwise
  /// reductions and refreshes are counted without padding. Gathers are padded
  /// always.
  SmallVector<TrafficPart> expected(int64_t maxReuseDistance,
                                    bool padded = true) const;

  /// The segments of a parameter of stage 3, padding included, in elements.
  int64_t paddedElements(StringAttr parameter) const;
  /// Elements of a parameter by itself.
  int64_t elements(StringAttr parameter) const {
    return partitions.getMember(parameter).getSize();
  }

private:
  void addPlanned(CollectiveOpInterface op, int64_t runs,
                  SmallVectorImpl<TrafficPart> &parts) const;
  void addActivations(SmallVectorImpl<TrafficPart> &parts) const;
  /// Gradients of `partition` that are quantized.
  void addExchanges(PartitionOp partition, int64_t runs,
                    SmallVectorImpl<TrafficPart> &parts) const;
  void addGradients(PartitionOp partition, bool padded,
                    SmallVectorImpl<TrafficPart> &parts) const;
  /// Gathers of a parameter in an update: the first of each micro-batch, and
  /// those after it.
  struct UseCount {
    int64_t first = 0, again = 0;
  };
  llvm::MapVector<StringAttr, UseCount>
  countUses(int64_t maxReuseDistance) const;
  void countUses(Block &block, int64_t maxReuseDistance, int64_t runs,
                 llvm::MapVector<StringAttr, UseCount> &counts) const;
  /// The first gathers of `parameter`: quantized where a rank has a block.
  TrafficPart makeFirstGather(StringAttr parameter, int64_t runs) const;
  /// `runs` gathers of `parameter` in packed form.
  TrafficPart pack(TrafficPart part, QuantizationAttr quantization) const;
  void addGathers(int64_t maxReuseDistance,
                  SmallVectorImpl<TrafficPart> &parts) const;
  /// The traffic of a parameter, moved by `op`, which in the closed form is its
  /// partition.
  TrafficPart makePart(TrafficKind kind, StringAttr parameter, int64_t runs,
                       Operation *op) const;

  // Operations are handles, and none of their methods is const.
  mutable ModuleOp module;
  mutable StepOp step;
  PartitionTable partitions;
};

} // namespace mlir::zero

#endif // ZERO_ANALYSIS_TRAFFIC_H
