// The program's binary form: magic, version, then every field in declaration
// order. Integers are LEB128 (signed ones zigzag), floats their 8 bytes in
// little-endian order, strings and lists are preceded by their length.
//
// One list of fields serves the writer and the reader. It is written with
// structured bindings, so a field that is added to a struct and forgotten here
// does not compile.
#include "program/Program.h"

#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>

using namespace zrt;

namespace {

constexpr char kMagic[4] = {'Z', 'R', 'T', 'P'};
constexpr uint64_t kVersion = 19;

class Writer {
public:
  explicit Writer(std::string &out) : out(out) {}

  template <typename... Ts> void operator()(const Ts &...values) {
    (put(values), ...);
  }

private:
  template <typename T> void put(const T &value);

  void raw(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
  }
  void put(const std::string &value) {
    raw(value.size());
    out += value;
  }
  void put(const double &value) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    for (int byte = 0; byte < 8; ++byte)
      out.push_back(static_cast<char>(bits >> (8 * byte)));
  }
  template <typename T> void put(const std::vector<T> &values) {
    raw(values.size());
    for (const T &value : values)
      put(value);
  }
  template <typename K, typename V> void put(const std::map<K, V> &values) {
    raw(values.size());
    for (const auto &[key, value] : values) {
      put(key);
      put(value);
    }
  }
  template <typename A, typename B> void put(const std::pair<A, B> &value) {
    put(value.first);
    put(value.second);
  }
  template <typename T, size_t n> void put(const T (&values)[n]) {
    for (const T &value : values)
      put(value);
  }

  std::string &out;
};

class Reader {
public:
  Reader(const char *data, size_t size)
      : begin(data), at(data), end(data + size) {}

  template <typename... Ts> void operator()(Ts &...values) {
    (get(values), ...);
  }

  [[noreturn]] void fail(const std::string &why) const {
    throw std::runtime_error("program: at byte " + std::to_string(at - begin) +
                             " of " + std::to_string(end - begin) + ": " + why);
  }
  bool atEnd() const { return at == end; }
  const char *take(size_t bytes) {
    if (static_cast<size_t>(end - at) < bytes)
      fail("ends in the middle of a field; the executable is damaged");
    const char *taken = at;
    at += bytes;
    return taken;
  }
  uint64_t raw() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      uint64_t byte = static_cast<unsigned char>(*take(1));
      if (shift == 63 && byte > 1)
        fail("found an integer of more than 64 bits");
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80)
        return value;
    }
  }

private:
  template <typename T> void get(T &value);

  /// A list's length. Every entry takes a byte or more, so a length beyond
  /// what is left is damage, and is refused before any memory is taken.
  size_t length() {
    uint64_t count = raw();
    if (count > static_cast<size_t>(end - at))
      fail("found a list of " + std::to_string(count) +
           " entries, more than the bytes left");
    return count;
  }
  void get(std::string &value) {
    size_t size = length();
    value.assign(take(size), size);
  }
  void get(double &value) {
    const char *bytes = take(8);
    uint64_t bits = 0;
    for (int byte = 0; byte < 8; ++byte)
      bits |= uint64_t(static_cast<unsigned char>(bytes[byte])) << (8 * byte);
    std::memcpy(&value, &bits, sizeof value);
  }
  template <typename T> void get(std::vector<T> &values) {
    values.clear();
    for (size_t left = length(); left; --left)
      get(values.emplace_back());
  }
  template <typename K, typename V> void get(std::map<K, V> &values) {
    values.clear();
    for (size_t left = length(); left; --left) {
      K key;
      get(key);
      get(values[key]);
    }
  }
  template <typename A, typename B> void get(std::pair<A, B> &value) {
    get(value.first);
    get(value.second);
  }
  template <typename T, size_t n> void get(T (&values)[n]) {
    for (T &value : values)
      get(value);
  }

  const char *begin, *at, *end;
};

} // namespace

//===----------------------------------------------------------------------===//
// The fields, in declaration order
//===----------------------------------------------------------------------===//

/// Calls `archive` with the fields of a struct; `S` is `T` or `const T`.
#define ZRT_FIELDS(T, ...)                                                     \
  template <typename Archive, typename S,                                      \
            std::enable_if_t<std::is_same_v<std::remove_const_t<S>, T>, int> = \
                0>                                                             \
  static void fields(Archive &archive, S &value) {                             \
    auto &[__VA_ARGS__] = value;                                               \
    archive(__VA_ARGS__);                                                      \
  }

ZRT_FIELDS(BufferRef, arena, offset, stride, bytes, group, tier)
ZRT_FIELDS(TensorType, type, shape, strides)
ZRT_FIELDS(KernelSpec, name, symbol, operands, results, ints, floats, flops,
           bytes)
ZRT_FIELDS(CollectivePart, send, receive, count, type, root, lane)
ZRT_FIELDS(Command, opcode, kernel, buffers, collective, parts, group, stream,
           ticket, prescaled, traffic, label, location)
ZRT_FIELDS(Initializer, kind, a, b)
ZRT_FIELDS(ParameterCut, dim, repeats, pieces, group)
ZRT_FIELDS(Parameter, name, shape, cuts, padding, modelType, computeType, init,
           trainable, partition, memberOffset, packedOffset, location)
ZRT_FIELDS(FileTensor, name, parameter, digest)
ZRT_FIELDS(Segment, offset, size)
ZRT_FIELDS(Optimizer, name, group, learningRate, weightDecay)
ZRT_FIELDS(StateRange, begin, end, buffer)
ZRT_FIELDS(State, name, type, start, constant, ranges)
ZRT_FIELDS(Quantization, bits, block)
ZRT_FIELDS(Partition, name, group, segments, optimizer, trainable,
           shardedParameters, shardedGradients, shardedOptimizer, computeType,
           gradientType, quantized, parameters, gradients, states)
ZRT_FIELDS(ResidentCopy, parameter, buffer)
ZRT_FIELDS(Input, name, type, buffer)
ZRT_FIELDS(GivenGradient, parameter, buffer)
ZRT_FIELDS(Output, name, type, buffer)
ZRT_FIELDS(Constant, buffer, bytes)
ZRT_FIELDS(Region, commands, outputs, weight)
ZRT_FIELDS(LossScale, kind, initial, minimum, factor, window, hysteresis,
           consecutiveHysteresis)
ZRT_FIELDS(LearningRateSchedule, kind, warmupMin, warmupMax, warmupSteps,
           totalSteps, logWarmup, warmupMinRatio, cosineMinRatio)
ZRT_FIELDS(Training, stage, ranks, accumulation, deterministic, clip, lossScale,
           schedule)
ZRT_FIELDS(FileSettings, folder, blockBytes, queueDepth)
ZRT_FIELDS(MemoryLine, name, bytes)
ZRT_FIELDS(MeshAxis, name, size)
ZRT_FIELDS(MeshGroup, axes)
ZRT_FIELDS(Mesh, axes, groups, samples)
ZRT_FIELDS(GroupTraffic, elements)
ZRT_FIELDS(Turn, isBackward, chunk, micro)
ZRT_FIELDS(StashRing, bytes, slots)
ZRT_FIELDS(StoredParameter, name, shape, stage, type, modelType, trainable,
           states)
ZRT_FIELDS(Pipeline, stage, stages, group, order, rings, stored, outputs)
ZRT_FIELDS(Program, name, pretrained, training, arenaBytes, parameters,
           fileTensors, partitions, residents, inputs, given, replacesGradients,
           constants, kernels, initialize, micro, microLast, forward, backward,
           apply, evaluate, memory, expectedTraffic, files, mesh,
           expectedByGroup, pipeline)
#undef ZRT_FIELDS

template <typename T> void Writer::put(const T &value) {
  if constexpr (std::is_enum_v<T>)
    raw(static_cast<uint64_t>(value));
  else if constexpr (std::is_unsigned_v<T>) // bool included
    raw(value);
  else if constexpr (std::is_integral_v<T>)
    raw((static_cast<uint64_t>(value) << 1) ^
        static_cast<uint64_t>(static_cast<int64_t>(value) >> 63));
  else
    fields(*this, value);
}

template <typename T> void Reader::get(T &value) {
  if constexpr (std::is_enum_v<T>) {
    uint64_t bits = raw();
    if (bits >= static_cast<uint64_t>(kCountOf<T>))
      fail("found enumeration value " + std::to_string(bits) +
           ", which this version does not have");
    value = kCasesOf<T>[bits];
  } else if constexpr (std::is_unsigned_v<T>) {
    uint64_t bits = raw();
    if (bits > std::numeric_limits<T>::max())
      fail("found " + std::to_string(bits) + ", which its field cannot hold");
    value = static_cast<T>(bits);
  } else if constexpr (std::is_integral_v<T>) {
    uint64_t bits = raw();
    int64_t wide = static_cast<int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
    if (wide < std::numeric_limits<T>::min() ||
        wide > std::numeric_limits<T>::max())
      fail("found " + std::to_string(wide) + ", which its field cannot hold");
    value = static_cast<T>(wide);
  } else {
    fields(*this, value);
  }
}

//===----------------------------------------------------------------------===//
// What the tables say of each other
//===----------------------------------------------------------------------===//

static void checkShape(const std::vector<int64_t> &shape,
                       const std::string &what) {
  int64_t elements = 1;
  for (int64_t size : shape)
    if (size < 0 || __builtin_mul_overflow(elements, size, &elements))
      throw std::runtime_error("program: " + what +
                               " has a negative size or overflows 64 bits");
  if (elements > std::numeric_limits<int64_t>::max() / 8)
    throw std::runtime_error("program: " + what +
                             " has more bytes than 64 bits count");
}

/// The pieces are the whole dimension, and each has a part for every rank.
static void checkCut(const Program &program, const Parameter &parameter,
                     const ParameterCut &cut) {
  int64_t whole = 0;
  const bool hasPadding = parameter.padding != 0;
  bool fits = !cut.pieces.empty() && cut.dim < parameter.shape.size() &&
              cut.repeats >= 1 &&
              (!hasPadding || (cut.dim == 0 && cut.pieces.size() == 1));
  for (int64_t piece : cut.pieces)
    fits = fits && piece > 0 && piece % program.ranksOf(cut.group) == 0 &&
           !__builtin_add_overflow(whole, piece, &whole);
  int64_t inner = 1; // elements of an index of the first dimension
  for (size_t dim = 1; dim < parameter.shape.size(); ++dim)
    inner *= parameter.shape[dim];
  const uint64_t missing =
      fits ? uint64_t(whole - parameter.shape[cut.dim]) * uint64_t(inner) : 0;
  if (!fits || __builtin_mul_overflow(whole, cut.repeats, &whole) ||
      (hasPadding ? missing != parameter.padding
                  : whole != parameter.shape[cut.dim]))
    throw std::runtime_error("program: parameter " + parameter.name +
                             " is cut into pieces that are not its dimension " +
                             std::to_string(cut.dim) +
                             ", or that its ranks do not divide");
}

/// Each cut by itself, and that no two are of one dimension or one axis.
static void checkCuts(const Program &program, const Parameter &parameter) {
  const std::vector<ParameterCut> &cuts = parameter.cuts;
  for (size_t i = 0; i < cuts.size(); ++i) {
    checkCut(program, parameter, cuts[i]);
    for (size_t j = 0; j < i; ++j)
      if (cuts[i].dim == cuts[j].dim ||
          program.mesh.meet(cuts[i].group, cuts[j].group))
        throw std::runtime_error("program: parameter " + parameter.name +
                                 " is cut twice in one dimension, or over one "
                                 "axis");
  }
}

/// Padding is in the partition, behind the parameter.
static void checkPadding(const Program &program, const Parameter &parameter) {
  if (parameter.padding == 0 || !parameter.cuts.empty())
    return;
  uint64_t end = 0;
  if (parameter.partition < 0 ||
      __builtin_add_overflow(parameter.memberOffset,
                             program.elementsOf(parameter), &end) ||
      __builtin_add_overflow(end, parameter.padding, &end) ||
      end > program.partitions[size_t(parameter.partition)].flatElements())
    throw std::runtime_error("program: parameter " + parameter.name + " has " +
                             std::to_string(parameter.padding) +
                             " elements of padding, which its partition does "
                             "not have");
}

/// The shape, and that the last element's distance fits 64 bits.
static void checkType(const TensorType &type, const std::string &what) {
  checkShape(type.shape, what);
  if (type.strides.empty())
    return;
  bool fits = type.strides.size() == type.shape.size();
  int64_t last = 0;
  for (size_t i = 0; fits && i < type.shape.size(); ++i) {
    int64_t distance = 0;
    fits = type.strides[i] >= 0 &&
           !__builtin_mul_overflow(type.shape[i], type.strides[i], &distance) &&
           !__builtin_add_overflow(last, distance, &last);
  }
  if (!fits || last > std::numeric_limits<int64_t>::max() / 16)
    throw std::runtime_error("program: " + what +
                             " has strides that are not one a dimension, are "
                             "negative or overflow 64 bits");
}

static void checkIndex(uint64_t index, uint64_t count, const std::string &what,
                       const char *table) {
  if (index >= count)
    throw std::runtime_error(
        "program: " + what + " names entry " + std::to_string(index) + " of " +
        table + ", which has " + std::to_string(count) + " entries");
}

/// Whether each micro-batch passes each chunk forward and then back.
static bool passesEachOnce(const Program &program) {
  const uint64_t chunks = program.forward.size();
  const auto micros = uint64_t(program.training.accumulation);
  const std::vector<Turn> &order = program.pipeline.order;
  if (chunks > order.size() || order.size() != 2 * micros * chunks)
    return false;
  std::vector<char> passes(micros * chunks);
  for (const Turn &turn : order)
    if (turn.micro >= micros || turn.chunk >= chunks ||
        passes[turn.chunk * micros + turn.micro]++ != char(turn.isBackward))
      return false;
  return true;
}

/// The stage is one of the stages, has passes and a ring of the stash for each
/// chunk, and makes each pass once.
static void checkPipeline(const Program &program) {
  const Pipeline &pipeline = program.pipeline;
  const size_t chunks = program.forward.size();
  bool fits = pipeline.stage < pipeline.stages &&
              program.training.ranks % int64_t(pipeline.stages) == 0 &&
              pipeline.isCut() == (chunks > 0) &&
              program.backward.size() == chunks &&
              pipeline.rings.size() == chunks && passesEachOnce(program);
  uint64_t stash = 0;
  for (const StashRing &ring : pipeline.rings) {
    // No product leaves 64 bits.
    fits = fits && ring.slots > 0 &&
           ring.slots <= uint64_t(program.training.accumulation) &&
           ring.bytes <= (uint64_t(1) << 48) / ring.slots;
    stash += fits ? ring.bytes * ring.slots : 0;
  }
  fits =
      fits && stash == program.arenaBytes[spaceOf(Arena::Stash, Tier::Device)];
  if (!fits)
    throw std::runtime_error(
        "program: stage " + std::to_string(pipeline.stage) + " of " +
        std::to_string(pipeline.stages) + " has " + std::to_string(chunks) +
        " chunks, " + std::to_string(pipeline.order.size()) + " passes and " +
        std::to_string(pipeline.rings.size()) +
        " rings of the stash; wanted each of the " +
        std::to_string(program.training.accumulation) +
        " micro-batches forward and then back through each chunk, in slots "
        "that the stash has");
}

/// What is stashed lies in one slot of one ring.
static void checkStashed(const Program &program, const BufferRef &buffer,
                         const std::string &what) {
  const Pipeline &pipeline = program.pipeline;
  if (buffer.arena == Arena::Stash && buffer.bytes > 0 &&
      pipeline.ringOf(buffer.offset, buffer.bytes) == pipeline.rings.size())
    throw std::runtime_error(
        "program: " + what + " has " + std::to_string(buffer.bytes) +
        " bytes at offset " + std::to_string(buffer.offset) +
        " of the stash, which are in no single slot of its " +
        std::to_string(pipeline.rings.size()) + " rings");
}

/// The shapes of all tensors but parameters.
static void checkTypes(const Program &program) {
  for (const KernelSpec &spec : program.kernels) {
    for (const TensorType &type : spec.operands)
      checkType(type, "an operand of kernel " + spec.name);
    for (const TensorType &type : spec.results)
      checkType(type, "a result of kernel " + spec.name);
  }
  for (const Input &input : program.inputs)
    checkType(input.type, "input " + input.name);
  for (const auto &[name, region] : program.regions())
    for (const Output &output : region->outputs)
      checkType(output.type, "output " + output.name);
}

/// Checks that every index of one table into another is in range, so that
/// the runtime can follow them without asking again.
static void checkIndices(const Program &program) {
  const std::string invalid = program.mesh.findInvalid(program.training.ranks);
  if (!invalid.empty())
    throw std::runtime_error("program: " + invalid);
  const auto checkGroup = [&](uint32_t group, const std::string &what) {
    if (group != kAllRanks)
      checkIndex(group, program.mesh.groups.size(), what, "groups");
  };
  checkGroup(program.mesh.samples, "mesh");
  checkGroup(program.pipeline.group, "pipeline");
  for (const Partition &partition : program.partitions) {
    checkGroup(partition.group, "partition " + partition.name);
    if (partition.isQuantized() &&
        (!partition.quantized.isValid() || !partition.shardedParameters ||
         partition.trainable))
      throw std::runtime_error(
          "program: partition " + partition.name + " stores parameters in " +
          std::to_string(partition.quantized.bits) + " bits and blocks of " +
          std::to_string(partition.quantized.block) +
          " elements; wanted 8 or 4, even blocks, and a partition that is "
          "sharded and not trained");
  }
  for (const Parameter &parameter : program.parameters) {
    checkShape(parameter.shape, "parameter " + parameter.name);
    for (const ParameterCut &cut : parameter.cuts)
      checkGroup(cut.group, "parameter " + parameter.name);
    checkCuts(program, parameter);
    if (parameter.partition != -1)
      checkIndex(static_cast<uint32_t>(parameter.partition),
                 program.partitions.size(), "parameter " + parameter.name,
                 "partitions");
    checkPadding(program, parameter);
  }
  checkPipeline(program);
  for (const ResidentCopy &copy : program.residents)
    checkIndex(copy.parameter, program.parameters.size(), "a resident copy",
               "parameters");
  for (const GivenGradient &given : program.given) {
    checkIndex(given.parameter, program.parameters.size(), "a given gradient",
               "parameters");
    const Parameter &parameter = program.parameters[given.parameter];
    if (!parameter.cuts.empty() || given.buffer.bytes / sizeOf(DataType::F32) <
                                       uint64_t(parameter.elements()))
      throw std::runtime_error("program: the gradient of " + parameter.name +
                               " is given, and there is no room for all of "
                               "it");
  }
  for (const auto &[name, region] : program.regions())
    for (const Command &command : region->commands) {
      const std::string what = "command '" + command.label + "'";
      if (command.opcode == Opcode::Kernel)
        checkIndex(command.kernel, program.kernels.size(), what, "kernels");
      checkGroup(command.group, what);
      const auto checkBuffer = [&](const BufferRef &buffer) {
        checkGroup(buffer.group, what);
        checkStashed(program, buffer, what);
      };
      for (const BufferRef &buffer : command.buffers)
        checkBuffer(buffer);
      for (const CollectivePart &part : command.parts) {
        checkBuffer(part.send);
        checkBuffer(part.receive);
        checkIndex(part.lane, kLanes, what, "lanes");
      }
    }
}

std::string zrt::serialize(const Program &program) {
  std::string out(kMagic, sizeof kMagic);
  Writer writer(out);
  writer(kVersion, program);
  return out;
}

bool zrt::parse(const void *data, size_t size, Program &program,
                std::string &error) {
  try {
    Reader reader(static_cast<const char *>(data), size);
    if (size < sizeof kMagic ||
        std::memcmp(reader.take(sizeof kMagic), kMagic, sizeof kMagic) != 0)
      reader.fail("found no program here; wanted the bytes ZRTP");
    if (uint64_t version = reader.raw(); version != kVersion)
      reader.fail("found format version " + std::to_string(version) +
                  ", wanted " + std::to_string(kVersion) +
                  "; compile the model again with this version");
    Program parsed;
    reader(parsed);
    if (!reader.atEnd())
      reader.fail("found bytes after the program's end");
    checkTypes(parsed);
    checkIndices(parsed);
    program = std::move(parsed);
    return true;
  } catch (const std::exception &failure) {
    error = failure.what();
    return false;
  }
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Before the number of stages and the bytes of each, with their size in front.
static constexpr char kStagesMagic[4] = {'Z', 'R', 'T', 'S'};

std::string zrt::serializeStages(const std::vector<Program> &stages) {
  if (stages.size() == 1)
    return serialize(stages.front());
  std::string out(kStagesMagic, sizeof kStagesMagic);
  Writer writer(out);
  std::vector<std::string> texts;
  for (const Program &stage : stages)
    texts.push_back(serialize(stage));
  writer(texts);
  return out;
}

/// Whether as many ranks of an axis of the mesh have a stage each.
static bool hasStages(const Mesh &mesh, size_t count) {
  for (const MeshAxis &axis : mesh.axes)
    if (holdsStages(axis.name))
      return axis.size == int64_t(count);
  return count == 1;
}

/// Checks that the programs are the stages of one model, in their order.
static std::string findForeignStage(const std::vector<Program> &stages) {
  for (size_t i = 0; i < stages.size(); ++i)
    if (stages[i].pipeline.stages != stages.size() ||
        stages[i].pipeline.stage != i ||
        stages[i].training.ranks != stages.front().training.ranks ||
        stages[i].mesh.text() != stages.front().mesh.text() ||
        !hasStages(stages[i].mesh, stages.size()))
      return "program: found " + std::to_string(stages.size()) +
             " stages, of which number " + std::to_string(i) +
             " is no stage of the same model";
  return stages.empty() ? "program: found no stage" : "";
}

bool zrt::parseStages(const void *data, size_t size,
                      std::vector<Program> &stages, std::string &error) {
  const bool isCut = size >= sizeof kStagesMagic &&
                     std::memcmp(data, kStagesMagic, sizeof kStagesMagic) == 0;
  std::vector<std::string> texts;
  std::vector<Program> parsed;
  try {
    if (isCut) {
      Reader reader(static_cast<const char *>(data), size);
      reader.take(sizeof kStagesMagic);
      reader(texts);
      if (!reader.atEnd())
        reader.fail("found bytes after the last stage");
    }
  } catch (const std::exception &failure) {
    error = failure.what();
    return false;
  }
  if (!isCut && !parse(data, size, parsed.emplace_back(), error))
    return false;
  for (const std::string &text : texts)
    if (!parse(text.data(), text.size(), parsed.emplace_back(), error))
      return false;
  error = findForeignStage(parsed);
  if (error.empty())
    stages = std::move(parsed);
  return error.empty();
}
