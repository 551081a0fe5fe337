//===- Async.h - buffers and parts of what runs beside others -------------===//
//
// A started operation describes itself (see AsyncOpInterface.td) in terms of
// partitions and elements; a memory plan decides where these are.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_DIALECT_ZERO_ASYNC_H
#define ZERO_DIALECT_ZERO_ASYNC_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"

#include <optional>
#include <string>

namespace zrt {
// The runtime's words, in program/Collective.h.
enum class Collective : uint8_t;
enum class Reduction : uint8_t;
enum class TrafficClass : uint8_t;
} // namespace zrt

namespace mlir::zero {

class PartitionTable;

/// Every buffer begins at a multiple of `kBufferAlignment` bytes; a buffer that
/// a file is read to or written from, and its place in the file, at a multiple
/// of `kFileAlignment`, that of a file system.
inline constexpr int64_t kBufferAlignment = 64, kFileAlignment = 4096;

/// How a buffer is packed for the ranks of a group; see zrt::QuantizedPieces.
struct PackedPieces {
  int64_t ranks = 1, pieces = 1, piece = 0;
  int64_t all() const { return ranks * pieces; }
};

/// A buffer that an operation reads or writes while it is in flight.
struct AsyncBuffer {
  enum class Memory {
    Own,      ///< bytes of its own, from the start, or from the wait if that
              ///< makes it, to the last use of a result
    Operand,  ///< the operation's operand `index`, where it is; with a result,
              ///< which it becomes
    State,    ///< elements [begin, end) of a partition's state
    Resident, ///< the resident copy of `parameter`
    Part,     ///< of buffer `index`, from element `offset` on
    Control,  ///< the field `name` of the runtime's control block
  };
  std::string name;
  Memory memory = Memory::Own;
  Type type;
  int64_t elements = 0;
  /// Of `Own`: the arena and the tier in which the buffer lies.
  ArenaKind arena = ArenaKind::Communication;
  MemoryTier tier = MemoryTier::Device;
  int64_t alignment = kBufferAlignment;
  bool isRead = false, isWritten = false;
  /// Whether `zero.at` has the buffer's place, under its name.
  bool isPlaced = false;
  /// The index of the handle's tensor that the buffer holds after the wait; -1:
  /// none.
  int result = -1;
  /// Whether that tensor lives until a `zero.free`.
  bool isFreed = false;

  /// Of gradients and parameters: the partition, the state and the range of
  /// which the buffer holds elements; a buffer in `State` lies there.
  FlatSymbolRefAttr partition;
  StringRef state;
  int64_t begin = 0, end = 0;
  /// The part of [begin, end) that the buffer holds: all of it, this rank's
  /// slice, or the elements that `owner` keeps.
  AccumulateForm form = AccumulateForm::Whole;
  /// Of the form `owned`: the only rank that has the buffer; negative: every
  /// rank.
  int64_t owner = -1;
  FlatSymbolRefAttr parameter;

  /// The buffer that a kernel packs into this one before the start, or unpacks
  /// to it after the wait; -1: none. Either way `quantization` says how.
  int packs = -1, unpacks = -1;
  QuantizationAttr quantization;
  /// Of a buffer that is packed before the start: the buffer with the errors
  /// that the kernel reads and updates, as `feedback` says; -1: none.
  int errors = -1;
  FeedbackAttr feedback;
  /// Of packed gradients: the pieces for each rank of a group or, when they are
  /// unpacked, those whose sum, times `factor`, is the result. Nothing for
  /// slices of parameters.
  std::optional<PackedPieces> pieces;
  double factor = 1;
  /// Whether the wait writes the buffer, and nothing touches it before.
  bool isMadeAtWait() const { return unpacks >= 0; }

  unsigned index = 0;
  /// The place in buffer `index`, in elements; `stride` and `over` as in
  /// `#zero.at`.
  int64_t offset = 0, stride = 0;
  AxesAttr over;
};

/// Whether buffer `index` is only read before the start, by what packs it.
inline bool isPacked(ArrayRef<AsyncBuffer> buffers, size_t index) {
  return llvm::any_of(buffers, [&](const AsyncBuffer &other) {
    return other.packs == static_cast<int>(index);
  });
}

/// Whether buffer `index` has the errors of what is packed before the start.
inline bool holdsErrors(ArrayRef<AsyncBuffer> buffers, size_t index) {
  return llvm::any_of(buffers, [&](const AsyncBuffer &other) {
    return other.errors == static_cast<int>(index);
  });
}

/// Elements of a buffer that travel.
struct BufferSlice {
  unsigned buffer = 0;
  int64_t offset = 0, elements = 0;
};

/// One part of a collective; `count` in elements and `root` as in
/// `zrt::CollectivePart`.
struct CollectivePart {
  BufferSlice send, receive;
  int64_t count = 0, root = 0;
};

/// Elements [begin, end) of the flat space of a partition.
struct PartitionRange {
  FlatSymbolRefAttr partition;
  int64_t begin = 0, end = 0;
};

} // namespace mlir::zero

#include "zero/Dialect/Zero/AsyncOpInterface.h.inc"

namespace mlir::zero {

/// An operation that ends what another one started, or hands its handle on.
template <typename ConcreteType>
class PassesPending : public OpTrait::TraitBase<ConcreteType, PassesPending> {};

/// An operation that sends a value of the model to other ranks, and is not
/// started yet.
template <typename ConcreteType>
class ExchangesValue : public OpTrait::TraitBase<ConcreteType, ExchangesValue> {
};

/// A collective that sends this rank's slices of parameters. It has either no
/// operands, or one for each parameter, in order: a copy of the slice, which it
/// sends instead.
template <typename ConcreteType>
class GathersSlices : public OpTrait::TraitBase<ConcreteType, GathersSlices> {};

} // namespace mlir::zero

#endif // ZERO_DIALECT_ZERO_ASYNC_H
