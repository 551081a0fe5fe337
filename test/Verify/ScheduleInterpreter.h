//===- ScheduleInterpreter.h - what a schedule does, on all ranks ---------===//
//
// Runs a scheduled step on all ranks at once, in f64: computations by the rules
// of lib/Interpreter, collectives by their definition. Memory that a rank must
// not rely on (freed, never written, of another owner, being written) is NaN.
// Each stream has a queue of its own, which runs as early or as late as it may,
// also from one region into the next. It shares nothing with the verifier that
// it judges.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_TEST_VERIFY_SCHEDULEINTERPRETER_H
#define ZERO_TEST_VERIFY_SCHEDULEINTERPRETER_H

#include "zero/Analysis/Mesh.h"
#include "zero/Dialect/Zero/PartitionTable.h"
#include "zero/Interpreter/Interpreter.h"

#include "llvm/ADT/MapVector.h"

#include <random>

namespace mlir::zero {

/// When a collective reads its sources and writes its targets: where it is
/// started, where it is waited for, or by chance in between, a step at a time.
enum class Completion { Early, Late, Random };

struct RunOptions {
  Completion completion = Completion::Early;
  bool clips = true; ///< whether judge's clip holds
  /// The last one comes after an evaluation, for which nothing is in flight.
  int64_t updates = 3;
};

/// What a run leaves: parameters by name, on every rank the same, and losses.
struct RunResult {
  std::string failure; ///< empty: ran clean
  llvm::StringMap<std::vector<double>> parameters;
  std::vector<double> losses;
};

/// "", or what of `found` is not what it is in `wanted`.
std::string differenceOf(const RunResult &found, const RunResult &wanted);

/// The state of one partition on one rank, by element of the flat space.
struct RankState {
  std::vector<double> parameters, gradients, moment;
};

class ScheduleInterpreter {
public:
  /// `data` gives the step's arguments for the micro-batch whose first global
  /// sample is given.
  ScheduleInterpreter(ModuleOp module, Interpreter &interpreter,
                      std::function<std::vector<Array>(uint64_t)> data,
                      RunOptions options);
  RunResult run();

private:
  struct Flight {
    Operation *op = nullptr;
    bool isRead = false, isDone = false, isCarried = false;
    /// By rank, then by result.
    std::vector<std::vector<std::vector<double>>> payload;
  };
  struct Control {
    double lossSum = 0, weightSum = 0, factor = NAN, unscale = NAN;
  };

  void initializeState();
  bool runRegion(Operation *region);
  bool visit(Operation &op);
  bool compute(Operation &op);
  bool evaluate(Operation &op, int64_t rank, ArrayRef<const Array *> in,
                SmallVectorImpl<Array> &out);
  bool fail(Operation &op, const Twine &why);

  // Values and state.
  bool materialize(Value value, int64_t rank, Array &result);
  bool readParameter(LoadOp load, int64_t rank, Array &result);
  /// The index of an element's owner among the ranks that `partition` is cut
  /// over.
  int64_t ownerOf(PartitionOp partition, int64_t element);
  /// The same where segments are cut into so many slices.
  int64_t ownerOf(PartitionOp partition, int64_t element, int64_t slices);
  /// The index of `rank` among them.
  int64_t indexIn(PartitionOp partition, int64_t rank);
  /// The ranks that meet `rank` in a group of `axes`, in order; null: all.
  SmallVector<int64_t> peersOf(int64_t rank, AxesAttr axes);
  /// The rank that owns an element among those that `rank` shares slices with.
  int64_t ownerFor(int64_t rank, PartitionOp partition, int64_t element);
  bool isOwned(PartitionOp partition, int64_t element, int64_t rank,
               bool isSharded);
  PartitionOp partitionOf(StringRef parameter);

  // Streams.
  bool start(AsyncOpInterface op);
  bool wait(WaitOp op);
  bool carry(CarryOp op);
  bool take(CarriedOp op);
  bool advance(Flight &flight);
  bool finish(Value handle);
  bool runSome();
  bool drain();
  void keepSources(DenseMap<Value, Array> &from, DenseMap<Value, Array> &to);

  // Collectives.
  bool read(Flight &flight);
  bool write(Flight &flight);
  void poisonTargets(Operation *op);
  bool readReduction(Operation *op, PartitionOp partition, int64_t begin,
                     int64_t end, Flight &flight);
  bool readExchange(ExchangeGradientsOp op, PartitionOp partition,
                    Flight &flight);
  bool readExchanged(ExchangeGradientsOp op, PartitionOp partition,
                     std::vector<std::vector<double>> &sent);
  bool readBucketed(CollectiveOpInterface op, const PartitionRange &range,
                    Flight &flight);
  bool readOwned(PartitionOp partition, CollectiveOpInterface op, int64_t begin,
                 int64_t end, Flight &flight);
  bool readGather(CollectiveOpInterface op, Flight &flight);
  bool cutSecondary(SecondarySliceOp op);
  bool readSecondary(Operation &op, PartitionOp partition, size_t index,
                     std::vector<std::vector<double>> &sent);
  bool readRefresh(Operation *op, const PartitionRange &range, Flight &flight);
  bool fillBuckets(Operation *op, PartitionOp partition, int64_t begin,
                   int64_t end, std::vector<std::vector<double>> &buckets);
  void writeStored(Operation *op, PartitionOp partition, int64_t begin,
                   int64_t end, Flight &flight);

  // Offload.
  SmallVector<int64_t> listOwned(PartitionOp partition, int64_t begin,
                                 int64_t end, int64_t rank);
  void updateElement(double gradient, double factor, double &moment,
                     double &parameter);
  bool readToHost(CopyToHostOp op, Flight &flight);
  bool readHostUpdate(UpdateOnHostOp op, Flight &flight);
  bool readStates(ReadStatesOp op, Flight &flight);
  bool readUpdated(UpdateOnHostOp op, int64_t rank,
                   std::vector<double> &moments,
                   std::vector<double> &parameters);
  bool readCopies(UpdateOnHostOp op, int64_t rank, std::vector<double> &moments,
                  std::vector<double> &parameters);
  bool readOperands(OperandRange operands, Flight &flight);
  bool storeStates(WriteStatesOp op, Flight &flight);
  bool readTier(Operation &op, ArrayAttr names, MemoryTier tier,
                Flight &flight);
  bool readSlices(Operation &op, PartitionOp partition, size_t index,
                  std::vector<std::vector<double>> &sent);
  bool readOffload(Flight &flight);
  bool writeOffload(Flight &flight);
  void poisonInFile(PartitionOp partition, int64_t begin, int64_t end);
  void poisonUpdated(PartitionOp partition, int64_t begin, int64_t end);

  // The rest of the schedule.
  bool accumulate(AccumulateOp op);
  bool storeOwned(AccumulateOp op, PartitionOp partition, int64_t rank,
                  const Array &value);
  bool freeValues(FreeOp op);
  bool gradStats(GradStatsOp op);
  bool reduceStats(Operation *op);
  bool judge(JudgeOp op);
  bool update(UpdateOp op);
  bool finishRegion(Operation *region);
  bool runEvaluation();
  bool collect(RunResult &result);

  ModuleOp module;
  StepOp step;
  PartitionTable table;
  AxesAttr mesh;
  Interpreter &interpreter;
  std::function<std::vector<Array>(uint64_t)> data;
  RunOptions options;
  int64_t ranks, micros, micro = 0, updateIndex = 0, count = 0;
  std::string failure;
  std::minstd_rand random{7};

  llvm::StringMap<PartitionOp> partitions;
  llvm::StringMap<std::vector<RankState>> states;
  llvm::StringMap<std::vector<std::vector<double>>> residents;
  std::vector<Control> control;
  std::vector<DenseMap<Value, Array>> values;
  /// What is in flight, by what its start returned, and the order of each
  /// stream.
  DenseMap<Value, Flight> flights;
  std::vector<Value> queues[getMaxEnumValForStreamKind() + 1];
  /// By name, what was carried last; and what a name stood for when taken,
  /// null where nothing was in flight.
  llvm::StringMap<Value> carried;
  DenseMap<Value, Value> taken;
  /// Sums of squares, by rank.
  DenseMap<Value, std::vector<double>> squares;
  llvm::DenseSet<Value> freed;
  llvm::MapVector<Value, Operation *> due;
  std::vector<double> losses;
  bool isEvaluating = false;
};

} // namespace mlir::zero

#endif // ZERO_TEST_VERIFY_SCHEDULEINTERPRETER_H
