// The program: everything the compiler decided, as data.
//
// The compiler fills a `Program`, serialises it into the executable, and the
// runtime parses it once at start. Kernels are code; everything else that a
// step does is a row of one of these tables: which kernel or collective, on
// which bytes, in which order. One program serves every rank; what differs
// between ranks is `BufferRef::stride`.
//
// This header depends on nothing but the standard library: the compiler and
// the runtime both include it.
#ifndef ZERO_RUNTIME_PROGRAM_PROGRAM_H
#define ZERO_RUNTIME_PROGRAM_PROGRAM_H

#include "program/Collective.h"
#include "program/DataType.h"
#include "program/Enums.h"
#include "program/Mesh.h"
#include "program/Quantization.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace zrt {

/// "optimizer", or "optimizer on host" for another tier than the device.
std::string nameOfSpace(int space);

/// A range of an arena: `offset + index in group * stride`, in bytes.
struct BufferRef {
  Arena arena = Arena::Activations;
  uint64_t offset = 0;
  uint64_t stride = 0;
  uint64_t bytes = 0;
  uint32_t group = kAllRanks; ///< index into Mesh::groups
  Tier tier = Tier::Device;
  int space() const { return spaceOf(arena, tier); }
};

/// Element type and static shape; row-major and dense, unless it has strides.
struct TensorType {
  DataType type = DataType::F32;
  std::vector<int64_t> shape;
  /// Elements from an index of a dimension to the next, for each dimension;
  /// empty: dense. Only of what kernels take, as their schemas say.
  std::vector<int64_t> strides = {};
  int64_t elements() const;
  uint64_t bytes() const { return elements() * sizeOf(type); }
  /// Bytes from the first element through the last.
  uint64_t span() const;
  bool operator==(const TensorType &other) const;
};

/// The operation and the tensors that a kernel is made for; equal specs share
/// one prepared kernel. `name` is the operation's ("nn.linear", "zero.adamw",
/// "launch"); for "launch", `symbol` names the generated function. `flops` and
/// `bytes`, which follow from the rest, are what a run computes, and reads and
/// writes.
struct KernelSpec {
  std::string name;
  std::string symbol;
  std::vector<TensorType> operands;
  std::vector<TensorType> results;
  std::map<std::string, std::vector<int64_t>> ints;
  std::map<std::string, double> floats;
  uint64_t flops = 0;
  uint64_t bytes = 0;
  bool operator==(const KernelSpec &other) const;

  /// The integer attribute `key`, or `otherwise` where it is absent.
  int64_t integer(const std::string &key, int64_t otherwise = 0) const;
  /// The case of an enumeration in the attribute "kind".
  template <typename Kind> Kind kind() const {
    return kCasesOf<Kind>.at(static_cast<size_t>(integer("kind")));
  }
  /// The float attribute `key`, or `otherwise` where it is absent.
  double real(const std::string &key, double otherwise = 0) const;
  /// Whether the attribute `key` is there.
  bool has(const std::string &key) const {
    return ints.count(key) + floats.count(key) != 0;
  }
};

/// One part of a (possibly grouped) collective.
/// `count` is in elements: of the whole buffer for all-reduce, broadcast and
/// reduce; of one rank's part for reduce-scatter (send holds count times the
/// ranks of the group) and all-gather (so does receive). `root` is an index in
/// the group. Of several messages between two ranks, those of one `lane` are
/// received in the order in which they are sent.
struct CollectivePart {
  BufferRef send;
  BufferRef receive;
  uint64_t count = 0;
  DataType type = DataType::F32;
  int32_t root = 0;
  uint32_t lane = 0;
};

struct Command {
  Opcode opcode = Opcode::Kernel;
  uint32_t kernel = 0;            ///< index into Program::kernels
  std::vector<BufferRef> buffers; ///< of a kernel: operands, then results
  Collective collective = Collective::AllReduce; ///< of a start
  std::vector<CollectivePart> parts;
  uint32_t group = kAllRanks; ///< of a collective: index into Mesh::groups
  Stream stream = Stream::Compute;
  uint32_t ticket = 0;    ///< of a start, a wait, and a kernel not on Compute
  bool prescaled = false; ///< a sum times `prescaleOf` the group's ranks
  TrafficClass traffic = TrafficClass::Gradient;
  std::string label;    ///< what a person should read: parameters, layer, op
  std::string location; ///< file:line:column in the source .mlir
};
/// Whether the command is a kernel that runs beside others until a wait.
inline bool runsBeside(const Command &command) {
  return command.opcode == Opcode::Kernel && command.stream != Stream::Compute;
}
/// "kernel", "wait", or the kind of collective that the command starts.
const char *nameOf(const Command &command);

struct Program;
/// Bytes of all arenas in a tier.
uint64_t bytesOfTier(const Program &program, Tier tier);
/// Bytes that the command, which runs beside others, copies from its first
/// buffer to its second as they are, whatever else happens; 0 for others.
uint64_t bytesCopiedBeside(const Program &program, const Command &command);
/// Whether a buffer of the command is in a file.
bool namesFile(const Command &command);
/// Whether the command reads or writes a file: copies as they are, beside
/// others, bytes of which one end is in a file and the other in host memory.
bool isFileCopy(const Program &program, const Command &command);

struct Initializer {
  InitKind kind = InitKind::Zeros;
  double a = 0; ///< normal: mean; uniform: low; constant: value
  double b = 0; ///< normal: standard deviation; uniform: high
};

/// How a dimension of a parameter is cut: it is `repeats` times the pieces, one
/// behind the other, and of each piece each rank of the group has an equal
/// part.
struct ParameterCut {
  uint32_t dim = 0;
  int64_t repeats = 1;
  std::vector<int64_t> pieces;
  uint32_t group = kAllRanks;
};

struct Parameter {
  std::string name;
  std::vector<int64_t> shape; ///< in files, whole
  /// None: every rank has the whole. Each is of another dimension, and its
  /// group of other axes.
  std::vector<ParameterCut> cuts;
  /// Elements behind its own, which are 0: in the partition's flat space, or,
  /// where it is cut, in what the last ranks have.
  uint64_t padding = 0;
  DataType modelType = DataType::F32;   ///< in files
  DataType computeType = DataType::F32; ///< in the parameter arena
  Initializer init;
  bool trainable = true;
  int32_t partition = -1;    ///< index into Program::partitions
  uint64_t memberOffset = 0; ///< first element in the partition's flat space
  /// The byte at which the parameter's slice begins in a rank's parameters of
  /// the partition; of a quantized partition only.
  uint64_t packedOffset = 0;
  std::string location; ///< file:line:column of its declaration, for messages
  int64_t elements() const; ///< in files
};

/// A tensor that files of weights may have beside the parameters.
struct FileTensor {
  std::string name;
  std::string parameter; ///< whose values it has, of any stage; empty: of none
  std::string digest;    ///< of its bytes, in hexadecimal; empty: any
};

/// One unit of ownership: flat elements [offset, offset + size), cut into
/// equal slices, slice i owned by the rank at index i of the partition's group
/// (by every rank when not sharded).
struct Segment {
  uint64_t offset = 0;
  uint64_t size = 0;
};

/// The facts about an optimizer for reports, and the rate that a schedule
/// starts from; all else is in the kernels.
struct Optimizer {
  std::string name; ///< "AdamW"; empty where nothing is trained
  /// The parameter group; empty where nothing is trained, and for averages.
  std::string group;
  double learningRate = 1e-3;
  double weightDecay = 0;
};

/// The place of elements [begin, end) of a partition's flat space: all of them,
/// or this rank's slices if the state is sharded.
struct StateRange {
  uint64_t begin = 0, end = 0;
  BufferRef buffer;
};

/// Something that an optimizer keeps of each element: "exp_avg".
struct State {
  std::string name;
  DataType type = DataType::F32;
  StateStart start = StateStart::Constant;
  double constant = 0;
  std::vector<StateRange> ranges; ///< in order, over the whole flat space
};

/// A flat group of parameters. Where a state is sharded, a rank stores its
/// slices of all segments one after the other: segment i's slice begins at
/// element segments[i].offset / the group's size.
struct Partition {
  std::string name;
  uint32_t group = kAllRanks; ///< over which states are cut
  std::vector<Segment> segments;
  Optimizer optimizer;
  bool trainable = true;
  bool shardedParameters = false; ///< stage 3
  bool shardedGradients = false;  ///< stages 2 and 3
  bool shardedOptimizer = false;  ///< stages 1 to 3
  DataType computeType = DataType::F32;
  DataType gradientType = DataType::F32; ///< of the stored gradient
  /// How this rank's slice of each parameter is packed; no bits: it is not.
  Quantization quantized = {0, 0};
  BufferRef parameters; ///< whole, or this rank's slices when sharded
  BufferRef gradients;
  std::vector<State> states;     ///< in the order of the update's kernel
  uint64_t flatElements() const; ///< padded
  bool isQuantized() const { return quantized.bits != 0; }
  /// The state that starts like that; null where there is none.
  const State *findState(StateStart start) const;
  /// The state that stands for the f32 parameter: a master, or the lower half
  /// of one that is split; null if the parameter is all there is.
  const State *master() const;
};

/// A resident whole copy of a parameter whose partition is sharded
/// (persisted at stage 3): refreshed by the program, read by `zero.load`.
struct ResidentCopy {
  uint32_t parameter = 0;
  BufferRef buffer;
};

/// A step argument, filled before every micro-batch.
struct Input {
  std::string name; ///< "tokens", "targets", or a name in the data file
  TensorType type;
  BufferRef buffer;
};

/// The gradient of a parameter for a micro-batch of a rank, which whoever runs
/// the program puts there before it: whole, f32, of the micro-batch's loss
/// without its scale. Behind the parameter's own elements are those of its
/// padding.
struct GivenGradient {
  uint32_t parameter = 0;
  BufferRef buffer;
};

/// A named value that a region leaves behind ("loss", "logits").
struct Output {
  std::string name;
  TensorType type;
  BufferRef buffer;
};

struct Constant {
  BufferRef buffer;
  std::string bytes;
};

/// Commands that run together: once a micro-batch, an update, an evaluation.
struct Region {
  std::vector<Command> commands;
  std::vector<Output> outputs;
  /// The weight of a micro-batch in a mean of losses; without a name if all
  /// have the same weight.
  Output weight;
};

/// One pass of a micro-batch through a chunk of a stage of a pipeline.
struct Turn {
  bool isBackward = false;
  uint32_t chunk = 0;
  uint32_t micro = 0;
};

/// The part of the stash that is of one chunk: what a micro-batch leaves in it
/// is in the slot of its number modulo the slots.
struct StashRing {
  uint64_t bytes = 0; ///< of a slot
  uint32_t slots = 1;
};

/// A parameter of a model that is cut into stages, as files know it.
struct StoredParameter {
  std::string name;
  std::vector<int64_t> shape;
  uint32_t stage = 0;                 ///< that writes it: the first that has it
  DataType type = DataType::F32;      ///< of its values in files
  DataType modelType = DataType::F32; ///< in the model
  bool trainable = true;
  /// The other states of each element, and their types.
  std::vector<std::pair<std::string, DataType>> states;
};

/// Which part of a model the program is, where ranks of an axis `pipe` have
/// different layers. A model that is not cut into stages has one.
struct Pipeline {
  uint32_t stage = 0, stages = 1;
  uint32_t group = kAllRanks; ///< of the axis, whose ranks are the stages
  /// Passes of an update in the order in which this stage makes them, before
  /// `apply`; empty where there is one stage: each micro-batch then runs
  /// forward and backward, one after the other.
  std::vector<Turn> order;
  /// By chunk, one behind the other in the arena of the stash. An offset in
  /// that arena is one among single slots of all rings.
  std::vector<StashRing> rings;
  /// All parameters of the model in the order of their declarations, the same
  /// list in each stage.
  std::vector<StoredParameter> stored;
  /// The evaluation's outputs, which ranks of the last stage have: places are
  /// theirs.
  std::vector<Output> outputs;
  bool isCut() const { return stages > 1; }
  /// Whether this stage has the loss and the outputs.
  bool isLast() const { return stage + 1 == stages; }
  uint32_t slotOf(const Turn &turn) const {
    return turn.micro % rings[turn.chunk].slots;
  }
  /// The ring that has bytes [offset, offset + bytes) among single slots of all
  /// rings; as many as there are where none has all of them.
  size_t ringOf(uint64_t offset, uint64_t bytes) const;
  /// The offset in the stash at which micro-batch `micro` has the value at
  /// `offset` of the layout with one slot of each ring.
  uint64_t stashOffset(uint64_t offset, uint32_t micro) const;
  /// Micro-batches after which their places in the stash are the same again.
  uint64_t period() const;
};

/// The powers of two at which f32 still has room for the loss on either side.
inline constexpr double kSmallestLossScale = 0x1p-64,
                        kLargestLossScale = 0x1p64;

struct LossScale {
  LossScaleKind kind = LossScaleKind::None;
  double initial = 1, minimum = 1, factor = 2;
  int64_t window = 1000, hysteresis = 2;
  bool consecutiveHysteresis = false;
};

struct LearningRateSchedule {
  ScheduleKind kind = ScheduleKind::Constant;
  double warmupMin = 0, warmupMax = -1; ///< negative: the group's own rate
  int64_t warmupSteps = 1000, totalSteps = 0;
  bool logWarmup = true;
  double warmupMinRatio = 0, cosineMinRatio = 1e-4;
};

struct Training {
  int32_t stage = 0;
  int32_t ranks = 1;
  int32_t accumulation = 1;
  bool deterministic = false;
  double clip = 0; ///< 0: none
  LossScale lossScale;
  LearningRateSchedule schedule;
};

/// The folder of states in files, and how they are read and written:
/// DeepSpeed's block `aio`.
struct FileSettings {
  /// Empty where nothing is in files; otherwise it must exist when a run
  /// starts.
  std::string folder;
  /// Bytes of one read or write, of which `isFileBlock` holds.
  uint64_t blockBytes = 1 << 20;
  /// Reads and writes in flight together: 1 to `kMostInFlight`.
  uint32_t queueDepth = 8;
};

/// A row of the memory report: bytes with a name a person knows.
struct MemoryLine {
  std::string name;
  uint64_t bytes = 0;
};

/// Elements by `TrafficClass`.
struct GroupTraffic {
  uint64_t elements[kCountOf<TrafficClass>] = {};
};

struct Program {
  std::string name;
  bool pretrained = false; ///< there are weights, from which its runs start
  Training training;
  uint64_t arenaBytes[kSpaceCount] = {}; ///< by `spaceOf`
  std::vector<Parameter> parameters;
  std::vector<FileTensor> fileTensors;
  std::vector<Partition> partitions;
  std::vector<ResidentCopy> residents;
  std::vector<Input> inputs;
  std::vector<GivenGradient> given; ///< empty: gradients are the loss's
  /// Whether what is given stands for the gradients of the loss: micro-batches
  /// read no inputs and have no loss.
  bool replacesGradients = false;
  std::vector<Constant> constants;
  std::vector<KernelSpec> kernels;
  Region initialize; ///< once, after the parameters are set: gathers persisted
                     ///< copies
  Region micro;      ///< forward and backward, once a micro-batch
  Region microLast;  ///< the same for the last micro-batch of an update; has no
                     ///< commands where `micro` runs for that too
  /// Of a stage of a pipeline, instead of `micro`: the passes of each chunk,
  /// each once a micro-batch.
  std::vector<Region> forward, backward;
  Region apply;    ///< once an update
  Region evaluate; ///< forward only
  std::vector<MemoryLine> memory;
  /// Elements that one rank sends in one update, by class, as the rules say;
  /// in units of 1/ranks of an element: divide by `training.ranks`.
  uint64_t expectedTraffic[kCountOf<TrafficClass>] = {};
  FileSettings files;
  Mesh mesh;
  /// The expected traffic of each group of the mesh, in the unit of
  /// `expectedTraffic`; empty if the mesh has no axes.
  std::vector<GroupTraffic> expectedByGroup;
  Pipeline pipeline;

  /// Elements of a parameter that one rank has of the whole, in memory; where
  /// it is cut, padding that is among them included.
  uint64_t elementsOf(const Parameter &parameter) const {
    auto elements = static_cast<uint64_t>(parameter.elements());
    if (!parameter.cuts.empty())
      elements += parameter.padding;
    for (const ParameterCut &cut : parameter.cuts)
      elements /= static_cast<uint64_t>(ranksOf(cut.group));
    return elements;
  }
  /// Ranks that have samples of their own, and the place of `rank` among them.
  int64_t sampleRanks() const { return ranksOf(mesh.samples); }
  int64_t sampleIndex(int64_t rank) const {
    return mesh.indexIn(mesh.samples, rank);
  }
  /// Ranks that give the loss of what they compute: those of the last stage.
  int64_t lossRanks() const { return training.ranks / pipeline.stages; }
  /// The first of them.
  int firstLossRank() const;
  /// The outputs of the evaluation, here or in the last stage.
  const std::vector<Output> &outputs() const {
    return pipeline.isCut() ? pipeline.outputs : evaluate.outputs;
  }
  /// Ranks of a group of the mesh.
  int64_t ranksOf(uint32_t group) const {
    return mesh.sizeOf(group, training.ranks);
  }

  /// All regions in the order in which they first run, with their names.
  std::vector<std::pair<std::string, const Region *>> regions() const;
  /// "forward", or "forward of chunk 1" where a stage has several.
  std::string nameOf(const Turn &turn) const;
  /// "forward pass of micro-batch 3", "... through chunk 1".
  std::string describe(const Turn &turn) const;
  /// "nn.linear 'fc1' at model.mlir:3:5".
  std::string describe(const Command &command) const;
  const Region &regionOf(const Turn &turn) const {
    return (turn.isBackward ? backward : forward)[turn.chunk];
  }
  /// The region that runs for micro-batch `index` of an update.
  const Region &regionOfMicro(int64_t index) const;
  /// The number of passes in an update before `apply`, one behind the other:
  /// the stage's turns, or micro-batches where nothing is cut into stages.
  size_t countPasses() const {
    return pipeline.isCut() ? pipeline.order.size()
                            : size_t(training.accumulation);
  }
  const Region &regionOfPass(size_t pass) const {
    return pipeline.isCut() ? regionOf(pipeline.order[pass])
                            : regionOfMicro(int64_t(pass));
  }
};

/// A byte string that `parse` reads back; the format carries a version.
std::string serialize(const Program &program);

/// The stages of one model, one behind the other; of one stage it is what
/// `serialize` makes of it.
std::string serializeStages(const std::vector<Program> &stages);

/// Reads what `serializeStages` wrote, as `parse`.
bool parseStages(const void *data, size_t size, std::vector<Program> &stages,
                 std::string &error);

/// The stage whose program `rank` runs.
size_t stageOf(const std::vector<Program> &stages, int64_t rank);

/// Reads what `serialize` wrote. Returns false and says why in `error` when
/// the bytes are not a program of this version.
bool parse(const void *data, size_t size, Program &program, std::string &error);

/// A hash of the mesh and of the order, groups, kinds, counts and types of all
/// collectives: equal on all ranks or the run must not start.
uint64_t collectiveHash(const Program &program);

} // namespace zrt

#endif // ZERO_RUNTIME_PROGRAM_PROGRAM_H
