//===- AsyncOpInterface.td - what runs beside others until its wait -------===//
#ifndef ZERO_DIALECT_ZERO_ASYNCOPINTERFACE_TD
#define ZERO_DIALECT_ZERO_ASYNCOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def AsyncOpInterface : OpInterface<"AsyncOpInterface"> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation that starts something which runs beside the operations that
    follow, until a `zero.wait`: a collective, a copy between tiers of memory.

    Every pass, verifier and report on a schedule asks this interface what is in
    flight, and lists no operations. No method has a default body, and an
    operation that returns a `!zero.pending` or has effects on the link without
    this interface is an error wherever a schedule is read.
  }];
  let methods =
      [InterfaceMethod<"The queue on which it runs.",
                       "::mlir::zero::StreamKind", "getStream">,
       InterfaceMethod<[{
      The handle that a `zero.wait` takes; null for an operation that is done
      where it stands.
    }],
                       "::mlir::Value", "getPending">,
       InterfaceMethod<[{
      Every buffer that is read or written in flight, each under a name that no
      other buffer of the operation has. Under it `zero.at` has the places of
      those that `zero-plan-memory` places.
    }],
                       "::llvm::SmallVector<::mlir::zero::AsyncBuffer>",
                       "getBuffers",
                       (ins "const ::mlir::zero::PartitionTable &":$partitions,
                           "::mlir::zero::TrainingAttr":$training)>,
       InterfaceMethod<[{
      The places of operands that are copied before the start: for each operand,
      its first element in the first buffer. Empty if operands are read in their
      own place.
    }],
                       "::llvm::SmallVector<int64_t>", "getOperandOffsets",
                       (ins
                           "const ::mlir::zero::PartitionTable &":$partitions)>,
       InterfaceMethod<"What it moves over: decides how long it takes.",
                       "::mlir::zero::LinkKind", "getLink">,
       InterfaceMethod<[{
      Bytes that the operation moves: of a collective, those of the whole that
      one rank gives or gets, without padding that no tensor has.
    }],
                       "int64_t", "getBytes",
                       (ins
                           "const ::mlir::zero::PartitionTable &":$partitions)>,
       InterfaceMethod<[{
      A name for the handle where another region waits: no two operations that
      are in flight together have one name.
    }],
                       "::std::string", "getHandleName">,
       InterfaceMethod<"What a person reads in plans and traces.",
                       "::std::string", "getLabel">,
  ];
}

def CollectiveOpInterface
    : OpInterface<"CollectiveOpInterface", [AsyncOpInterface]> {
  let cppNamespace = "::mlir::zero";
  let description = [{
    An operation that all ranks of a group start together, in one order.
  }];
  let methods =
      [InterfaceMethod<"The kind, as the runtime has it.", "::zrt::Collective",
                       "getKind">,
       InterfaceMethod<
           "How elements are combined, by it or when it is waited for; none where "
           "they only travel, or what is combined is not complete.",
           "::std::optional<::zrt::Reduction>", "getReduction">,
       InterfaceMethod<
           "What travels, for the traffic that is proved and counted.",
           "::zrt::TrafficClass", "getTrafficClass">,
       InterfaceMethod<[{
      Whether the operation combines gradients that replicas have each reduced
      in their own group, because gradients are reduced over more axes than they
      are cut over.
    }],
                       "bool", "combinesReplicas">,
       InterfaceMethod<
           "The axes of the mesh whose ranks meet in it; null for all ranks.",
           "::mlir::zero::AxesAttr", "getGroup",
           (ins "const ::mlir::zero::PartitionTable &":$partitions)>,
       InterfaceMethod<[{
      The ranges of partitions whose elements travel, in order; none if no state
      travels.
    }],
                       "::llvm::SmallVector<::mlir::zero::PartitionRange>",
                       "getPartitionRanges",
                       (ins
                           "const ::mlir::zero::PartitionTable &":$partitions)>,
       InterfaceMethod<[{
      The parameters whose gradients or values travel, in order; null where the
      range alone says it.
    }],
                       "::mlir::ArrayAttr", "getParameterNames">,
       InterfaceMethod<
           "The element type on the wire; null where nothing travels.",
           "::mlir::Type", "getWireType",
           (ins "const ::mlir::zero::PartitionTable &":$partitions)>,
       InterfaceMethod<[{
      Elements that one rank sends, times n / (n - 1) for a group of n ranks.
    }],
                       "int64_t", "getElementsSent",
                       (ins
                           "const ::mlir::zero::PartitionTable &":$partitions)>,
       InterfaceMethod<
           [{
      The transfers between buffers that make up one grouped collective;
      `buffers` are those of `getBuffers`.
    }],
           "::llvm::SmallVector<::mlir::zero::CollectivePart>", "getParts",
           (ins "const ::mlir::zero::PartitionTable &":$partitions,
               "::llvm::ArrayRef<::mlir::zero::AsyncBuffer>":$buffers)>,
  ];
}

#endif // ZERO_DIALECT_ZERO_ASYNCOPINTERFACE_TD
