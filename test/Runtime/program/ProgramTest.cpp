// The program's binary form: every field comes back, and damage is an error.
#include "program/Program.h"
#include "program/KernelKey.h"
#include "program/NcclParts.h"

#include <gtest/gtest.h>

#include <memory>
#include <type_traits>

using namespace zrt;

namespace {

/// Calls `visit` with the fields of `value`. A field that is added to a struct
/// does not compile here until it is tested.
#define FIELDS(T, ...)                                                         \
  template <typename Visit> void visitFields(T &value, Visit visit) {          \
    auto &[__VA_ARGS__] = value;                                               \
    visit(__VA_ARGS__);                                                        \
  }
FIELDS(BufferRef, a, b, c, d, e, f)
FIELDS(TensorType, a, b, c)
FIELDS(KernelSpec, a, b, c, d, e, f, g, h)
FIELDS(CollectivePart, a, b, c, d, e, f)
FIELDS(Command, a, b, c, d, e, f, g, h, i, j, k, l)
FIELDS(Initializer, a, b, c)
FIELDS(ParameterCut, a, b, c, d)
FIELDS(Parameter, a, b, c, d, e, f, g, h, i, j, k, l)
FIELDS(FileTensor, a, b, c)
FIELDS(Segment, a, b)
FIELDS(Optimizer, a, b, c, d)
FIELDS(StateRange, a, b, c)
FIELDS(State, a, b, c, d, e)
FIELDS(Quantization, a, b)
FIELDS(Partition, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
FIELDS(ResidentCopy, a, b)
FIELDS(Input, a, b, c)
FIELDS(GivenGradient, a, b)
FIELDS(Output, a, b, c)
FIELDS(Constant, a, b)
FIELDS(Region, a, b, c)
FIELDS(LossScale, a, b, c, d, e, f, g)
FIELDS(LearningRateSchedule, a, b, c, d, e, f, g, h)
FIELDS(Training, a, b, c, d, e, f, g)
FIELDS(MemoryLine, a, b)
FIELDS(MeshAxis, a, b)
FIELDS(MeshGroup, a)
FIELDS(Mesh, a, b, c)
FIELDS(GroupTraffic, a)
FIELDS(FileSettings, a, b, c)
FIELDS(Turn, a, b, c)
FIELDS(StashRing, a, b)
FIELDS(StoredParameter, a, b, c, d, e, f, g)
FIELDS(Pipeline, a, b, c, d, e, f, g)
FIELDS(Program, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u,
       v, w, x, y, z)
#undef FIELDS

/// Sets every field to a value that no default has, and most differently.
class Filler {
public:
  template <typename... Ts> void operator()(Ts &...values) {
    (fill(values), ...);
  }

  template <typename T> void fill(T &value) {
    if constexpr (std::is_enum_v<T>)
      value = static_cast<T>(1);
    else if constexpr (std::is_same_v<T, bool>)
      value = !value;
    else if constexpr (std::is_same_v<T, uint32_t>)
      value = 1; // an index into a table of two entries
    else if constexpr (std::is_arithmetic_v<T>)
      value = static_cast<T>(next());
    else
      visitFields(value, *this);
  }
  void fill(int64_t &value) {
    value = *counter % 2 ? next() + (1ll << 40) : -next();
  }
  void fill(uint64_t &value) { value = ~uint64_t(next()); }
  void fill(double &value) { value = -1.0 / next(); }
  void fill(std::string &value) {
    value = std::string("text\0with a zero ", 17) + std::to_string(next());
  }
  void fill(Parameter &value) {
    visitFields(value, *this);
    value.shape = {next(), 0, 90};
    value.cuts = {{2, 5, {12, 6}, 1}};
    value.memberOffset = static_cast<uint64_t>(next());
    value.padding = static_cast<uint64_t>(next());
    value.partition = 1;
  }
  /// One that is cut, and one with padding.
  void fill(std::vector<Parameter> &values) {
    values.resize(2);
    for (Parameter &value : values)
      fill(value);
    values[0].padding = 0;
    values[1].cuts = {};
  }
  void fill(TensorType &value) {
    value = {DataType::U16, {next(), next(), 1}, {next(), next(), 1}};
  }
  template <typename T> void fill(std::vector<T> &values) {
    values.resize(2);
    for (T &value : values)
      fill(value);
  }
  template <typename A, typename B> void fill(std::pair<A, B> &value) {
    fill(value.first);
    fill(value.second);
  }
  template <typename K, typename V> void fill(std::map<K, V> &values) {
    for (int i = 0; i < 2; ++i) {
      K key;
      fill(key);
      fill(values[key]);
    }
  }
  template <typename T, size_t n> void fill(T (&values)[n]) {
    for (T &value : values)
      fill(value);
  }

private:
  int64_t next() { return ++*counter; }
  std::shared_ptr<int64_t> counter = std::make_shared<int64_t>(0);
};

/// Collects each leaf as text.
class Lister {
public:
  template <typename... Ts> void operator()(Ts &...values) {
    (list(values), ...);
  }

  template <typename T> void list(T &value) {
    if constexpr (std::is_enum_v<T>)
      leaves->push_back(std::to_string(static_cast<int>(value)));
    else if constexpr (std::is_arithmetic_v<T>)
      leaves->push_back(std::to_string(value));
    else if constexpr (std::is_convertible_v<T, std::string>)
      leaves->push_back(value);
    else
      visitFields(value, *this);
  }
  template <typename T> void list(std::vector<T> &values) {
    leaves->push_back(std::to_string(values.size()));
    for (T &value : values)
      list(value);
  }
  template <typename A, typename B> void list(std::pair<A, B> &value) {
    list(value.first);
    list(value.second);
  }
  template <typename K, typename V> void list(std::map<K, V> &values) {
    for (auto &[key, value] : values) {
      list(key);
      list(value);
    }
  }
  template <typename T, size_t n> void list(T (&values)[n]) {
    for (T &value : values)
      list(value);
  }
  std::shared_ptr<std::vector<std::string>> leaves =
      std::make_shared<std::vector<std::string>>();
};

Program filled() {
  Program program;
  Filler().fill(program);
  program.training.ranks = 6;
  program.training.accumulation = 2;
  program.pipeline.stage = 1;
  program.pipeline.stages = 3;
  program.pipeline.rings = {{64, 2}, {128, 1}};
  program.pipeline.order = {{false, 0, 0}, {false, 0, 1}, {false, 1, 0},
                            {true, 1, 0},  {false, 1, 1}, {true, 1, 1},
                            {true, 0, 0},  {true, 0, 1}};
  program.arenaBytes[spaceOf(Arena::Stash, Tier::Device)] = 256;
  for (auto &[name, region] : program.regions())
    for (const Command &command : region->commands)
      for (size_t i = 0; i < command.parts.size(); ++i)
        const_cast<CollectivePart &>(command.parts[i]).lane = uint32_t(i % 2);
  program.mesh = {{{"replica", 2}, {"shard", 3}}, {{{0, 1}}, {{1}}}, 1};
  for (Partition &partition : program.partitions) {
    partition.quantized = {4, 66};
    partition.shardedParameters = true;
    partition.trainable = false;
    partition.segments = {{0, 1 << 20}, {1 << 20, 1 << 20}}; // for padding
  }
  return program;
}

std::vector<std::string> leavesOf(Program program) {
  Lister lister;
  lister.list(program);
  return *lister.leaves;
}

TEST(Program, EveryFieldComesBack) {
  Program program = filled(), back;
  std::string bytes = serialize(program), error;
  ASSERT_TRUE(parse(bytes.data(), bytes.size(), back, error)) << error;
  EXPECT_EQ(leavesOf(program), leavesOf(back));
  EXPECT_NE(leavesOf(program), leavesOf(Program()));
  EXPECT_EQ(serialize(back), bytes);
}

/// The first stage of two, each of one of two ranks.
Program stageOfTwo(uint32_t stage) {
  Program program;
  program.name = "stage " + std::to_string(stage);
  program.training.ranks = 4;
  program.training.accumulation = 2;
  program.mesh = {{{"pipe", 2}, {"data", 2}}, {{{0, 1}}, {{0}}, {{1}}}, 2};
  program.pipeline.stage = stage;
  program.pipeline.stages = 2;
  program.pipeline.group = 1;
  program.pipeline.rings = {{64, 2 - stage}};
  program.pipeline.order = {
      {false, 0, 0}, {true, 0, 0}, {false, 0, 1}, {true, 0, 1}};
  program.arenaBytes[spaceOf(Arena::Stash, Tier::Device)] = 64 * (2 - stage);
  program.forward.resize(1);
  program.backward.resize(1);
  return program;
}

TEST(Program, StagesComeBackInTheirOrder) {
  const std::vector<Program> stages = {stageOfTwo(0), stageOfTwo(1)};
  std::string bytes = serializeStages(stages), error;
  std::vector<Program> back;
  ASSERT_TRUE(parseStages(bytes.data(), bytes.size(), back, error)) << error;
  ASSERT_EQ(back.size(), 2u);
  EXPECT_EQ(serialize(back[0]), serialize(stages[0]));
  EXPECT_EQ(serialize(back[1]), serialize(stages[1]));
  EXPECT_EQ(stageOf(back, 1), 0u);
  EXPECT_EQ(stageOf(back, 2), 1u);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parseStages(bytes.data(), size, back, error)) << size;
}

TEST(Program, OneStageIsAProgramByItself) {
  Program program = filled();
  program.pipeline = {};
  program.forward.clear();
  program.backward.clear();
  program.arenaBytes[spaceOf(Arena::Stash, Tier::Device)] = 0;
  EXPECT_EQ(serializeStages({program}), serialize(program));
  std::string bytes = serialize(program), error;
  std::vector<Program> back;
  ASSERT_TRUE(parseStages(bytes.data(), bytes.size(), back, error)) << error;
  EXPECT_EQ(back.size(), 1u);
  EXPECT_EQ(stageOf(back, 3), 0u);
}

TEST(Program, StagesThatAreNotOfOneModelAreAnError) {
  std::string error;
  std::vector<Program> back;
  const auto refuse = [&](const std::vector<Program> &stages) {
    const std::string bytes = serializeStages(stages);
    EXPECT_FALSE(parseStages(bytes.data(), bytes.size(), back, error));
    EXPECT_NE(error.find("no stage of the same model"), std::string::npos)
        << error;
  };
  refuse({stageOfTwo(1), stageOfTwo(0)});
  refuse({stageOfTwo(0), stageOfTwo(0)});
  refuse({stageOfTwo(0), stageOfTwo(1), stageOfTwo(1)});
  refuse({stageOfTwo(0)});
  std::vector<Program> other = {stageOfTwo(0), stageOfTwo(1)};
  for (Program &stage : other)
    stage.mesh.axes[0].name = "other";
  refuse(other);
}

TEST(Program, APassThatIsNotOfTheOrderIsAnError) {
  const auto errorOf = [](const std::vector<Turn> &order) {
    Program program = stageOfTwo(0), back;
    program.pipeline.order = order;
    const std::string bytes = serialize(program);
    std::string error;
    EXPECT_FALSE(parse(bytes.data(), bytes.size(), back, error));
    return error;
  };
  const std::string wanted = "wanted each of the 2 micro-batches forward and "
                             "then back";
  const Turn f0 = {false, 0, 0}, b0 = {true, 0, 0}, f1 = {false, 0, 1},
             b1 = {true, 0, 1};
  for (const std::vector<Turn> &order :
       std::vector<std::vector<Turn>>{{},
                                      {f0, b0},
                                      {b0, f0, f1, b1},
                                      {f0, f0, b0, b1},
                                      {f0, b0, f1, b1, f1, b1},
                                      {f0, b0, {false, 1, 1}, b1},
                                      {f0, b0, f1, {true, 0, 2}}})
    EXPECT_NE(errorOf(order).find(wanted), std::string::npos);
}

TEST(Program, AStashThatDoesNotHoldItsRingsIsAnError) {
  const auto errorOf = [](const std::vector<StashRing> &rings) {
    Program program = stageOfTwo(0), back;
    program.pipeline.rings = rings;
    const std::string bytes = serialize(program);
    std::string error;
    EXPECT_FALSE(parse(bytes.data(), bytes.size(), back, error));
    return error;
  };
  for (const std::vector<StashRing> &rings :
       std::vector<std::vector<StashRing>>{{},
                                           {{64, 2}, {0, 1}},
                                           {{64, 0}},
                                           {{65, 2}},
                                           {{64, 3}},
                                           {{uint64_t(1) << 63, 2}}})
    EXPECT_NE(errorOf(rings).find("in slots that the stash has"),
              std::string::npos);
}

/// Rings lie one behind the other, with all slots of each.
TEST(Program, PlacesInTheStashFollowFromTheMicroBatch) {
  Pipeline pipeline;
  pipeline.rings = {{64, 3}, {128, 2}};
  EXPECT_EQ(pipeline.period(), 6u);
  EXPECT_EQ(pipeline.ringOf(0, 64), 0u);
  EXPECT_EQ(pipeline.ringOf(0, 65), 2u); // in two rings
  EXPECT_EQ(pipeline.ringOf(64, 128), 1u);
  EXPECT_EQ(pipeline.ringOf(192, 1), 2u);
  EXPECT_EQ(pipeline.stashOffset(8, 0), 8u);
  EXPECT_EQ(pipeline.stashOffset(8, 4), 64u + 8);
  EXPECT_EQ(pipeline.stashOffset(64, 0), 192u);
  EXPECT_EQ(pipeline.stashOffset(64 + 100, 5), 192u + 128 + 100);
  EXPECT_EQ(pipeline.stashOffset(64 + 128, 0), 192u + 256); // outside
}

TEST(Program, AnEmptyProgramComesBack) {
  Program back = filled();
  std::string bytes = serialize(Program()), error;
  ASSERT_TRUE(parse(bytes.data(), bytes.size(), back, error)) << error;
  EXPECT_EQ(leavesOf(Program()), leavesOf(back));
}

TEST(Program, EveryTruncationIsAnError) {
  std::string bytes = serialize(filled());
  for (size_t size = 0; size < bytes.size(); ++size) {
    // An allocation of exactly this size lets a sanitizer see an overrun.
    std::vector<char> part(bytes.begin(), bytes.begin() + size);
    Program back;
    std::string error;
    EXPECT_FALSE(parse(part.data(), part.size(), back, error)) << size;
    EXPECT_NE(error.find("program: "), std::string::npos) << error;
  }
}

TEST(Program, EveryChangedByteIsReadOrRefused) {
  std::string bytes = serialize(filled());
  for (size_t at = 0; at < bytes.size(); ++at)
    for (int mask : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ mask);
      Program back;
      std::string error;
      if (!parse(damaged.data(), damaged.size(), back, error))
        EXPECT_FALSE(error.empty());
    }
}

TEST(Program, NcclRefusesPartsThatAreNotAligned) {
  Command command;
  command.opcode = Opcode::Start;
  command.collective = Collective::AllGather;
  command.label = "p0";
  command.location = "a.mlir:1:2";
  CollectivePart part;
  part.type = DataType::BF16;
  part.count = 8;
  part.send.offset = 48;
  part.send.stride = 16;
  command.parts = {part};
  const auto refusal = [&] {
    Program program;
    program.apply.commands = {Command(), command};
    return refusedByNccl(program);
  };
  EXPECT_EQ(refusal(), "");
  command.parts[0].count = 0;
  EXPECT_EQ(refusal(), "");
  command.parts[0].count = 12;
  EXPECT_EQ(refusal(), "a.mlir:1:2: all-gather 'p0' in apply: a rank's part "
                       "has 24 bytes; NCCL wants multiples of 16: compile with "
                       "a larger alignment");
  command.parts = {part, part};
  command.parts[1].receive.offset = 8;
  command.collective = Collective::ReduceScatter;
  EXPECT_EQ(refusal(), "a.mlir:1:2: reduce-scatter 'p0' in apply: a rank's "
                       "part has 16 bytes, not aligned; NCCL wants multiples "
                       "of 16: compile with a larger alignment");
  command.parts[1].receive.offset = 0;
  command.parts[1].send.stride = 24;
  EXPECT_NE(refusal(), "");
  // Ranks own no parts of it.
  command.collective = Collective::AllReduce;
  EXPECT_EQ(refusal(), "");
}

TEST(Program, ForeignBytesAreNamed) {
  Program back;
  std::string error, bytes = serialize(Program());
  EXPECT_FALSE(parse("ELF\x01", 4, back, error));
  EXPECT_NE(error.find("wanted the bytes ZRTP"), std::string::npos) << error;
  bytes[4] = 99;
  EXPECT_FALSE(parse(bytes.data(), bytes.size(), back, error));
  EXPECT_NE(error.find("format version 99"), std::string::npos) << error;
  bytes = serialize(Program()) + "x";
  EXPECT_FALSE(parse(bytes.data(), bytes.size(), back, error));
  EXPECT_NE(error.find("after the program's end"), std::string::npos) << error;
}

TEST(Program, IndicesAreChecked) {
  Program program = filled(), back;
  program.micro.commands[0].opcode = Opcode::Kernel;
  program.micro.commands[0].kernel = 2;
  program.micro.commands[0].label = "layer 3";
  std::string bytes = serialize(program), error;
  EXPECT_FALSE(parse(bytes.data(), bytes.size(), back, error));
  EXPECT_NE(error.find("command 'layer 3' names entry 2 of kernels"),
            std::string::npos)
      << error;
}

TEST(Program, WhatIsStoredQuantizedIsChecked) {
  const auto refuses = [](auto change) {
    Program program = filled(), back;
    program.partitions.at(0).name = "p0";
    change(program.partitions.at(0));
    std::string bytes = serialize(program), error;
    EXPECT_FALSE(parse(bytes.data(), bytes.size(), back, error));
    EXPECT_NE(error.find("wanted 8 or 4, even blocks, and a partition that is "
                         "sharded and not trained"),
              std::string::npos)
        << error;
  };
  refuses([](Partition &partition) { partition.quantized.block = 0; });
  refuses([](Partition &partition) { partition.quantized.bits = 5; });
  refuses([](Partition &partition) { partition.trainable = true; });
  refuses([](Partition &partition) { partition.shardedParameters = false; });
}

TEST(Program, GivenGradientsHaveRoom) {
  const auto errorOf = [](uint32_t parameter, uint64_t bytes, bool isCut) {
    Program program, back;
    program.parameters.resize(1);
    program.parameters[0].name = "w";
    program.parameters[0].shape = {5, 4};
    if (isCut)
      program.parameters[0].cuts = {{0, 1, {5}, kAllRanks}};
    program.given = {{parameter, {Arena::Inputs, 0, 0, bytes}}};
    std::string bytesOfProgram = serialize(program), error;
    return parse(bytesOfProgram.data(), bytesOfProgram.size(), back, error)
               ? ""
               : error;
  };
  EXPECT_EQ(errorOf(0, 80, false), "");
  EXPECT_EQ(errorOf(0, 79, false),
            "program: the gradient of w is given, and there is no room for "
            "all of it");
  EXPECT_NE(errorOf(0, 80, true), "");
  EXPECT_NE(errorOf(1, 80, false), "");
}

TEST(Program, PaddingIsChecked) {
  const auto errorOf = [](uint64_t offset, uint64_t padding,
                          int32_t partition = 0) {
    Program program, back;
    program.partitions.resize(1);
    program.partitions[0].segments = {{0, 64}, {64, 36}};
    program.parameters.resize(1);
    program.parameters[0].name = "w";
    program.parameters[0].shape = {5, 4};
    program.parameters[0].partition = partition;
    program.parameters[0].memberOffset = offset;
    program.parameters[0].padding = padding;
    std::string bytes = serialize(program), error;
    return parse(bytes.data(), bytes.size(), back, error) ? "" : error;
  };
  EXPECT_EQ(errorOf(76, 4), "");
  EXPECT_EQ(errorOf(76, 5),
            "program: parameter w has 5 elements of padding, which its "
            "partition does not have");
  EXPECT_NE(errorOf(77, 4), "");
  EXPECT_NE(errorOf(60, ~uint64_t(0)), "");
  EXPECT_NE(errorOf(~uint64_t(0) - 10, 4), "");
  EXPECT_NE(errorOf(60, 4, -1), "");
}

TEST(Program, PiecesAreTheDimension) {
  const auto errorOfAll = [](std::vector<ParameterCut> cuts, uint64_t padding) {
    Program program, back;
    program.training.ranks = 2;
    program.mesh = {{{"data", 1}, {"tensor", 2}}, {{{0, 1}}, {{1}}}, 0};
    program.parameters.resize(1);
    program.parameters[0].name = "w";
    program.parameters[0].shape = {5, 12};
    program.parameters[0].cuts = std::move(cuts);
    program.parameters[0].padding = padding;
    std::string bytes = serialize(program), error;
    return parse(bytes.data(), bytes.size(), back, error) ? "" : error;
  };
  const auto errorOf = [&](ParameterCut cut, uint64_t padding = 0) {
    return errorOfAll({std::move(cut)}, padding);
  };
  EXPECT_EQ(errorOf({1, 1, {12}, 1}), "");
  EXPECT_EQ(errorOf({1, 2, {4, 2}, 1}), "");
  EXPECT_EQ(errorOf({0, 1, {5}, 1}),
            "program: parameter w is cut into pieces that are not its "
            "dimension 0, or that its ranks do not divide");
  for (const ParameterCut &cut : {ParameterCut{2, 1, {12}, 1},
                                  {1, 1, {10}, 1},
                                  {1, 2, {12}, 1},
                                  {1, 1, {9, 3}, 1},
                                  {1, 0, {12}, 1},
                                  {1, 1, {14, -2}, 1},
                                  {1, 1, {12}, 2}})
    EXPECT_NE(errorOf(cut), "");
  // Padding is behind all rows, in what the last ranks have.
  EXPECT_EQ(errorOf({0, 1, {6}, 1}, 12), "");
  for (const auto &[cut, padding] :
       {std::pair<ParameterCut, uint64_t>{{0, 1, {6}, 1}, 11},
        {{0, 1, {8}, 1}, 12},
        {{0, 2, {3}, 1}, 12},
        {{0, 1, {4, 2}, 1}, 12},
        {{1, 1, {14}, 1}, 10}})
    EXPECT_NE(errorOf(cut, padding), "");
}

TEST(Program, CutsAreOfOtherDimensionsAndAxes) {
  const auto errorOf = [](std::vector<ParameterCut> cuts) {
    Program program, back;
    program.training.ranks = 4;
    program.mesh = {
        {{"tensor", 2}, {"expert", 2}}, {{{0, 1}}, {{0}}, {{1}}}, 0};
    program.parameters.resize(1);
    program.parameters[0].name = "w";
    program.parameters[0].shape = {4, 12};
    program.parameters[0].cuts = std::move(cuts);
    std::string bytes = serialize(program), error;
    return parse(bytes.data(), bytes.size(), back, error) ? "" : error;
  };
  EXPECT_EQ(errorOf({{1, 1, {12}, 1}, {0, 1, {4}, 2}}), "");
  const std::string twice =
      "program: parameter w is cut twice in one dimension, or over one axis";
  EXPECT_EQ(errorOf({{1, 1, {12}, 1}, {1, 1, {12}, 2}}), twice);
  EXPECT_EQ(errorOf({{1, 1, {12}, 1}, {0, 1, {4}, 1}}), twice);
  EXPECT_EQ(errorOf({{1, 1, {12}, 1}, {0, 1, {4}, 0}}), twice);
}

TEST(Program, StridesAreChecked) {
  auto errorOf = [](std::vector<int64_t> strides) {
    Program program, back;
    program.kernels.resize(1);
    program.kernels[0].name = "some";
    program.kernels[0].results = {{DataType::F32, {4, 5}, std::move(strides)}};
    std::string bytes = serialize(program), error;
    return parse(bytes.data(), bytes.size(), back, error) ? "" : error;
  };
  EXPECT_EQ(errorOf({100, 1}), "");
  for (const std::vector<int64_t> &strides : std::vector<std::vector<int64_t>>{
           {1}, {100, -1}, {int64_t(1) << 62, 1}, {(int64_t(1) << 60) + 1, 1}})
    EXPECT_EQ(errorOf(strides),
              "program: a result of kernel some has strides that are not one a "
              "dimension, are negative or overflow 64 bits");
}

TEST(Program, TheCollectiveHashSeesWhatRanksMustAgreeOn) {
  Program program = filled();
  uint64_t hash = collectiveHash(program);
  auto changed = [&](auto change) {
    Program other = program;
    change(other);
    return collectiveHash(other) != hash;
  };
  EXPECT_TRUE(changed(
      [](Program &p) { p.micro.commands[0].collective = Collective::Reduce; }));
  EXPECT_TRUE(
      changed([](Program &p) { p.micro.commands[0].stream = Stream::Copy; }));
  EXPECT_TRUE(
      changed([](Program &p) { p.micro.commands[1].parts[0].count++; }));
  EXPECT_TRUE(changed(
      [](Program &p) { p.apply.commands[1].parts[1].type = DataType::F32; }));
  EXPECT_TRUE(changed([](Program &p) { p.apply.commands[1].parts[1].root++; }));
  EXPECT_TRUE(
      changed([](Program &p) { p.evaluate.commands[1].prescaled = false; }));
  EXPECT_TRUE(changed([](Program &p) { p.microLast.commands.pop_back(); }));
  EXPECT_TRUE(changed(
      [](Program &p) { std::swap(p.micro.commands[0], p.micro.commands[1]); }));
  EXPECT_FALSE(
      changed([](Program &p) { p.micro.commands[0].label = "other"; }));
  EXPECT_FALSE(
      changed([](Program &p) { p.micro.commands[0].parts[0].send.offset++; }));
}

TEST(Program, TheLastMicroBatchMayHaveAForm) {
  Program program;
  program.training.accumulation = 3;
  program.micro.commands.resize(1);
  EXPECT_EQ(&program.regionOfMicro(2), &program.micro);
  program.microLast.commands.resize(2);
  EXPECT_EQ(&program.regionOfMicro(0), &program.micro);
  EXPECT_EQ(&program.regionOfMicro(1), &program.micro);
  EXPECT_EQ(&program.regionOfMicro(2), &program.microLast);
}

TEST(Program, SpecsCompareByValue) {
  KernelSpec spec;
  Filler().fill(spec);
  KernelSpec other = spec;
  EXPECT_TRUE(spec == other);
  other.ints["k"] = {4, 5};
  EXPECT_FALSE(spec == other);
  EXPECT_EQ(other.integer("k"), 4);
  EXPECT_EQ(other.integer("absent", 7), 7);
  EXPECT_EQ(other.real("absent", 0.5), 0.5);
  EXPECT_TRUE(other.has("k"));
  EXPECT_EQ((TensorType{DataType::F16, {3, 4}}).bytes(), 24u);
  EXPECT_EQ((TensorType{DataType::F32, {}}).elements(), 1);
}

} // namespace
