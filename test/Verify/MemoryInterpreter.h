//===- MemoryInterpreter.h - what a planned schedule does to memory -------===//
//
// Runs a planned step on one rank and follows every byte: a write marks the
// bytes of its place with what they are, a read finds these marks or names the
// byte that is something else by now. Collectives in flight read and write as
// early or as late as they may. It computes nothing and shares nothing with the
// verifier that it judges.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_VERIFY_MEMORYINTERPRETER_H
#define ZERO_TEST_VERIFY_MEMORYINTERPRETER_H

#include "zero/Dialect/Zero/Zero.h"

#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace mlir::zero {

/// Marks of bytes, one a byte.
using Marks = std::vector<uint64_t>;

/// The marks of `bytes` bytes from `offset` on. What a mutant takes from beyond
/// the end is nothing that was ever written.
inline Marks cut(const Marks &marks, int64_t offset, int64_t bytes) {
  if (offset < 0 || bytes < 0 ||
      offset + bytes > static_cast<int64_t>(marks.size()))
    return Marks(static_cast<size_t>(std::max<int64_t>(bytes, 0)),
                 ~uint64_t(0));
  return Marks(marks.begin() + offset, marks.begin() + offset + bytes);
}

/// The place of the buffer of that name of a started operation.
inline AtAttr placeAt(Operation *op, const Twine &buffer) {
  return op->getAttrOfType<DictionaryAttr>("zero.at").getAs<AtAttr>(
      buffer.str());
}

/// Bytes of one rank: [begin, end) of a memory space.
struct ByteRange {
  MemorySpace space = ArenaKind::Activations;
  int64_t begin = 0, end = 0;

  bool overlaps(const ByteRange &other) const {
    return space == other.space && begin < other.end && other.begin < end;
  }
  bool operator==(const ByteRange &other) const {
    return space == other.space && begin == other.begin && end == other.end;
  }
};

class MemoryInterpreter {
public:
  /// `completesEarly`: a collective does its work at its start, else at its
  /// wait.
  MemoryInterpreter(ModuleOp module, int64_t rank, bool completesEarly);

  /// Runs two updates, an evaluation and one more update. Returns what went
  /// wrong, or nothing.
  std::string run();

private:
  /// A state of a partition: where it lies and what its elements are.
  struct State {
    /// By the first element that is there.
    std::map<int64_t, AtAttr> places;
    bool isSharded = false;
    int64_t bytes = 0; ///< of an element
    Marks marks;       ///< of the whole flat space
  };
  /// Where a value lies and what it is.
  struct Content {
    ByteRange place;
    Marks marks;
  };
  struct Flight {
    Operation *op = nullptr;
    ByteRange bucket;
    Marks bucketMarks;
    bool isDone = false;
  };
  /// Elements [flat, flat + count) of a partition that a bucket holds from
  /// element `inBucket` on and this rank owns.
  struct OwnedRun {
    int64_t flat, inBucket, count;
  };

  // Bytes.
  ByteRange rangeOf(AtAttr at) const;
  ByteRange part(const ByteRange &whole, int64_t offset, int64_t bytes) const;
  bool write(const ByteRange &range, const Marks &marks, Operation *op);
  bool read(const ByteRange &range, const Marks &marks, Operation *op);
  Marks fresh(int64_t bytes);
  bool fail(Operation *op, const Twine &why);

  // States.
  void place();
  bool findStates();
  State &stateOf(PartitionOp partition, StringRef name);
  void placeErrors(PartitionOp partition, StringRef name, AtAttr at);
  void placePacked(PartitionOp partition, AtAttr at);
  void placeState(PartitionOp partition, StringRef name, bool isSharded,
                  Type type);
  /// Where element 0 would be, if all of the state were where `element` is.
  ByteRange baseOf(const State &state, int64_t element) const;
  /// The place of a rank's slice of the segment [begin, end) of a state.
  ByteRange sliceOf(const State &state, int64_t begin, int64_t end) const;
  bool readOwned(PartitionOp partition, StringRef name, Operation *op,
                 int64_t begin, int64_t end);
  bool readOwned(PartitionOp partition, StringRef name, Operation *op) {
    return readOwned(partition, name, op, 0, partition.getFlatElements());
  }
  bool writeOwned(PartitionOp partition, StringRef name, Operation *op,
                  int64_t begin, int64_t end);
  bool writeOwned(PartitionOp partition, StringRef name, Operation *op) {
    return writeOwned(partition, name, op, 0, partition.getFlatElements());
  }
  bool listOwned(PartitionOp partition, StringRef name, Operation *op,
                 int64_t begin, int64_t end, Marks &owned);
  bool storeOwned(PartitionOp partition, StringRef name, Operation *op,
                  int64_t begin, int64_t end, const Marks &marks);
  template <typename Visit>
  bool forOwned(PartitionOp partition, const State &state, int64_t begin,
                int64_t end, Visit visit);
  SmallVector<OwnedRun> findOwnedRuns(PartitionOp partition,
                                      ArrayAttr parameters, int64_t from,
                                      int64_t to) const;

  // Operations.
  bool runRegion(Operation *region);
  bool visit(Operation *op);
  bool visitKernel(Operation *op);
  bool visitLoad(LoadOp load);
  bool readValue(Value value, Operation *op);
  bool accumulate(AccumulateOp op);
  bool accumulateOwned(AccumulateOp op);
  bool update(UpdateOp op);

  // Collectives.
  bool start(Operation *op);
  bool fillBucket(Operation *op, Flight &flight);
  bool complete(Flight &flight);
  bool completeReduction(Flight &flight);
  bool completeBucketed(CollectiveOpInterface op, Flight &flight);
  bool readSlice(Operation *op, size_t index, PartitionOp partition,
                 int64_t begin, int64_t end);
  bool packOwnSlices(Operation *op);
  bool readSent(Operation *op, size_t index);
  bool packSlices(Operation *op, StringRef parameter);
  bool unpackSlices(Operation *op);
  bool writeExchanged(Operation *op, StringRef what, size_t index);
  bool readExchanged(Operation *op, StringRef what, size_t index);
  bool packGradients(ExchangeGradientsOp op);
  bool updateErrors(ExchangeGradientsOp op, size_t index);
  bool exchangeGradients(ExchangeGradientsOp op);
  bool addUpGradients(ExchangeGradientsOp op);
  bool gather(Operation *op, ArrayAttr parameters);
  bool cutSecondary(SecondarySliceOp op);
  Marks listSecondary(PartitionOp partition, StringRef parameter,
                      AxesAttr over);
  bool refresh(Operation *op, const PartitionRange &range);
  bool copyValue(Operation *op, StringRef buffer);

  // Offload.
  bool upload(UploadOp op);
  bool copySlices(Operation *op, ArrayAttr names, Value pending,
                  StringRef prefix);
  bool copyToHost(CopyToHostOp op);
  bool copyToDevice(CopyToDeviceOp op);
  bool readStates(ReadStatesOp op);
  bool writeStates(WriteStatesOp op);
  bool updateOnHost(UpdateOnHostOp op);
  bool completeOffload(Operation *op);
  bool wait(WaitOp op);
  bool drain();

  ModuleOp module;
  StepOp step;
  int64_t rank, ranks;
  bool completesEarly;
  bool storesFirst = true; ///< the first micro-batch of an update runs
  std::string failure;
  uint64_t next = 1;

  std::vector<Marks> arenas;
  llvm::StringMap<PartitionOp> partitionOf; ///< by name and by parameter
  llvm::StringMap<llvm::StringMap<State>> states;
  llvm::StringMap<Content> residents;
  /// By parameter, this rank's slice where it is stored quantized.
  llvm::StringMap<Content> packedSlices;
  DenseMap<Operation *, Marks> constants;
  DenseMap<Value, Content> values;
  /// Of a reduction: the marks of its results.
  DenseMap<Value, SmallVector<Content>> results;
  DenseMap<Value, Flight> flights;
  /// By gather and parameter: what arrived packed, and what this rank sent.
  DenseMap<std::pair<Operation *, StringRef>, Marks> packed;
  DenseMap<std::pair<Operation *, StringRef>, Content> packedOwn;
  /// By exchange and buffer: what is packed, and what arrived.
  std::map<std::pair<Operation *, std::string>, Marks> exchanged;
  /// By name: what was carried and not taken; null: nothing.
  llvm::StringMap<Value> carried;
  /// What a name stood for when it was taken.
  DenseMap<Value, Value> taken;
};

/// Calls `visit` with the place of each piece of [begin, end) of `state` that
/// this rank updates and its bytes in the flat space.
template <typename Visit>
bool MemoryInterpreter::forOwned(PartitionOp partition, const State &state,
                                 int64_t begin, int64_t end, Visit visit) {
  int64_t ranks = partition.getSlices();
  if (!partition.hasShardedOptimizer()) {
    for (int64_t first = begin; first < end;) {
      auto next = state.places.upper_bound(first);
      int64_t last =
          next == state.places.end() ? end : std::min(end, next->first);
      int64_t from = first * state.bytes, bytes = (last - first) * state.bytes;
      if (!visit(part(baseOf(state, first), from, bytes), from, bytes))
        return false;
      first = last;
    }
    return true;
  }
  for (auto [first, last] : partition.getSegmentsIn(begin, end)) {
    int64_t slice = (last - first) / ranks * state.bytes;
    if (!visit(sliceOf(state, first, last), first * state.bytes + rank * slice,
               slice))
      return false;
  }
  return true;
}

} // namespace mlir::zero

#endif // ZERO_TEST_VERIFY_MEMORYINTERPRETER_H
