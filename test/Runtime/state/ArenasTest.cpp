// Arenas, layout and initial values.
#include "../MessageOf.h"
#include "StateTesting.h"

#include "kernels/Kernel.h"
#include "program/Float16.h"
#include "state/Elements.h"
#include "state/Initialize.h"
#include "state/Philox.h"

#include <cmath>
#include <cstring>
#include <set>

using namespace zrt;
using namespace zrt::testing;
using zrt::test::messageOf;

namespace {

TEST(StateArenas, AreAlignedZeroAndChecked) {
  Program program;
  program.arenaBytes[0] = 100;
  program.arenaBytes[3] = 5 << 20;
  for (bool huge : {false, true}) {
    Arenas arenas(program, huge);
    for (void *address : arenas.addresses())
      EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % 4096, 0u);
    EXPECT_EQ(arenas.addresses()[1], nullptr);
    EXPECT_EQ(arenas.bytes(Arena::Parameters), 100u);
    EXPECT_GE(arenas.bytes(Arena::Control), sizeof(Control));
    auto *bytes = static_cast<char *>(
        arenas.resolve({Arena::Activations, 0, 0, 5 << 20}, 0));
    EXPECT_EQ(std::count(bytes, bytes + (5 << 20), 0), 5 << 20);
    std::memset(bytes, 1, 5 << 20); // the last byte is writable
    void *base = arenas.addresses()[0];
    EXPECT_EQ(arenas.resolve({Arena::Parameters, 4, 32, 32}, 2),
              static_cast<char *>(base) + 68);
    EXPECT_THROW(arenas.resolve({Arena::Parameters, 5, 32, 32}, 2),
                 std::out_of_range);
    EXPECT_THROW(arenas.resolve({Arena::Parameters, ~0ull, 1, 1}, 0),
                 std::out_of_range);
    EXPECT_THROW(arenas.resolve({Arena::Parameters, 0, ~0ull, 1}, 2),
                 std::out_of_range);
    EXPECT_THROW(arenas.resolve({Arena::Gradients, 0, 0, 1}, 0),
                 std::out_of_range);
  }
}

TEST(StateArenas, ATierHasMemoryOfItsOwn) {
  Program program;
  program.arenaBytes[spaceOf(Arena::Optimizer, Tier::Device)] = 64;
  program.arenaBytes[spaceOf(Arena::Optimizer, Tier::Host)] = 128;
  Arenas arenas(program);
  EXPECT_EQ(arenas.bytes(Arena::Optimizer), 64u);
  EXPECT_EQ(arenas.bytes(Arena::Optimizer, Tier::Host), 128u);
  const BufferRef there = {Arena::Optimizer, 0, 0, 64};
  BufferRef here = there;
  here.tier = Tier::Host;
  auto *device = static_cast<char *>(arenas.resolve(there, 0));
  auto *host = static_cast<char *>(arenas.resolve(here, 0));
  EXPECT_TRUE(host + 128 <= device || device + 64 <= host);
  std::memset(host, 1, 64);
  EXPECT_EQ(std::count(device, device + 64, 0), 64);
  // As far as its own tier's memory goes, and no further.
  here.bytes = 128;
  EXPECT_EQ(arenas.resolve(here, 0), host);
  here.tier = Tier::Device;
  EXPECT_THROW(arenas.resolve(here, 0), std::out_of_range);
}

TEST(StateArenas, RefuseATierThatIsNotThere) {
  Program program;
  program.arenaBytes[spaceOf(Arena::Optimizer, Tier::File)] = 64;
  try {
    Arenas arenas(program);
    FAIL();
  } catch (const std::runtime_error &failure) {
    EXPECT_NE(std::string(failure.what()).find("arena 'optimizer on file'"),
              std::string::npos)
        << failure.what();
  }
}

TEST(StateArenas, SayWhatCannotBeHad) {
  Program program;
  program.arenaBytes[1] = uint64_t(1) << 63;
  EXPECT_EQ(messageOf([&] { Arenas arenas(program); }),
            "arena 'gradients': cannot have 9223372036854775808 bytes of "
            "memory: Cannot allocate memory");
}

TEST(StateArenas, ReserveWithoutCost) {
  Program program;
  program.arenaBytes[3] = uint64_t(1) << 40; // far more than any test machine
  Arenas arenas(program);
  auto *last = static_cast<char *>(
      arenas.resolve({Arena::Activations, (uint64_t(1) << 40) - 1, 0, 1}, 0));
  *last = 1;
}

/// Known answers of the authors' library.
TEST(StatePhilox, IsPhilox4x32With10Rounds) {
  EXPECT_EQ(Philox::block(0, 0, 0),
            (Philox::Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox::block(~0ull, ~0ull, ~0ull),
            (Philox::Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(
      Philox::block(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
      (Philox::Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(StateInitialValues, DependOnSeedNameAndElementAlone) {
  constexpr uint64_t count = 1001;
  Parameter first = parameter("w", {1001}, {InitKind::Normal, 0, 1});
  std::vector<float> whole(count), part(count), other(count);
  initialValues(first, 5, 0, count, whole.data());
  for (uint64_t begin : {0, 1, 2, 17, 1000}) {
    initialValues(first, 5, begin, count - begin, part.data());
    EXPECT_EQ(std::memcmp(part.data(), &whole[begin], 4 * (count - begin)), 0);
    initialValues(first, 5, 0, begin + 1, part.data());
    EXPECT_EQ(std::memcmp(part.data(), whole.data(), 4 * (begin + 1)), 0);
  }
  initialValues(first, 6, 0, count, other.data());
  EXPECT_NE(whole, other);
  initialValues(parameter("v", {1001}, first.init), 5, 0, count, other.data());
  EXPECT_NE(whole, other);
}

TEST(StateInitialValues, HaveTheirDistribution) {
  constexpr uint64_t count = 200000;
  std::vector<float> values(count);
  auto moments = [&](Initializer init) {
    initialValues(parameter("w", {count}, init), 1, 0, count, values.data());
    double sum = 0, squares = 0, products = 0;
    for (float value : values)
      sum += value;
    double mean = sum / count;
    for (uint64_t i = 0; i < count; ++i) {
      squares += (values[i] - mean) * (values[i] - mean);
      products += (values[i] - mean) * (values[(i + 1) % count] - mean);
    }
    EXPECT_LT(std::fabs(products / squares), 0.01); // neighbours differ
    return std::pair(mean, std::sqrt(squares / count));
  };
  auto [mean, deviation] = moments({InitKind::Normal, 3, 0.5});
  EXPECT_NEAR(mean, 3, 0.005);
  EXPECT_NEAR(deviation, 0.5, 0.005);
  auto within = std::count_if(values.begin(), values.end(), [](float value) {
    return std::fabs(value - 3) < 0.5;
  });
  EXPECT_NEAR(double(within) / count, 0.6827, 0.005);
  std::tie(mean, deviation) = moments({InitKind::Uniform, -1, 3});
  EXPECT_NEAR(mean, 1, 0.01);
  EXPECT_NEAR(deviation, 4 / std::sqrt(12.0), 0.01);
  auto [least, most] = std::minmax_element(values.begin(), values.end());
  EXPECT_GE(*least, -1);
  EXPECT_LE(*most, 3);
}

TEST(StateLayout, EveryElementHasOneOwner) {
  for (int stage : {0, 1, 2, 3})
    for (int ranks : {1, 2, 3, 4}) {
      Program program = sampleProgram(stage, ranks, DataType::BF16);
      for (const Parameter &parameter : program.parameters) {
        std::vector<int> owners(parameter.elements());
        for (int rank = 0; rank < ranks; ++rank) {
          uint64_t after = 0;
          forEachPiece(program, parameter, true, rank, [&](const Piece &piece) {
            EXPECT_GE(piece.stored, after);
            after = piece.stored + piece.count;
            for (uint64_t i = 0; i < piece.count; ++i)
              owners[piece.element + i]++;
          });
          const Partition &partition = partitionOf(program, parameter);
          EXPECT_LE(after, partition.flatElements() / ranks);
        }
        EXPECT_EQ(std::set<int>(owners.begin(), owners.end()),
                  std::set<int>{1});
      }
    }
}

TEST(StateLayout, NamesAnElement) {
  Program program = sampleProgram(0, 1, DataType::F32);
  EXPECT_EQ(describeElement(program, 0, false, 0, 8), "a.w[1, 1]");
  EXPECT_EQ(describeElement(program, 0, false, 0, 91), "a.scale[]");
  EXPECT_EQ(describeElement(program, 1, false, 0, 6), "c.b[0, 1]");
  program = sampleProgram(3, 2, DataType::F32);
  EXPECT_EQ(describeElement(program, 0, true, 1, 0), "a.w[6, 6]");
  EXPECT_EQ(describeElement(program, 0, true, 1, 47), "padding");
}

/// All stored values, as f32, of one parameter on one rank.
void expectStored(const Program &program, const Arenas &arenas, int rank,
                  const Parameter &parameter,
                  const std::vector<float> &wanted) {
  const Partition &partition = partitionOf(program, parameter);
  auto check = [&](const std::vector<StateRange> &ranges, bool sharded,
                   DataType type, bool follows) {
    const uint64_t share = sharded ? program.training.ranks : 1;
    forEachPiece(program, parameter, sharded, rank, [&](const Piece &piece) {
      for (uint64_t i = 0; i < piece.count; ++i) {
        char bytes[4];
        storeElements(type, follows, &wanted[piece.element + i], bytes, 1);
        const uint64_t at = piece.stored + i;
        for (const StateRange &range : ranges)
          if (at >= range.begin / share && at < range.end / share) {
            auto *base =
                static_cast<char *>(arenas.resolve(range.buffer, rank));
            ASSERT_EQ(
                std::memcmp(base + (at - range.begin / share) * sizeOf(type),
                            bytes, sizeOf(type)),
                0)
                << parameter.name << " " << at;
          }
      }
    });
  };
  for (const State &state : partition.states)
    check(state.ranges, partition.shardedOptimizer, state.type, false);
  check({{0, partition.flatElements(), partition.parameters}},
        partition.shardedParameters, partition.computeType,
        partition.master() != nullptr);
}

TEST(StateInitialize, EveryStageAndRankGetsTheSameModel) {
  ThreadPool pool(2);
  for (DataType type : {DataType::F32, DataType::BF16, DataType::F16})
    for (int stage : {0, 1, 2, 3})
      for (int rank = 0; rank < 3; ++rank) {
        Program program = sampleProgram(stage, 3, type);
        Arenas arenas(program);
        initializeParameters(program, arenas, rank, 17, rank ? &pool : nullptr);
        for (const Parameter &parameter : program.parameters) {
          std::vector<float> wanted(parameter.elements());
          initialValues(parameter, 17, 0, wanted.size(), wanted.data());
          expectStored(program, arenas, rank, parameter, wanted);
        }
        // Padding: what no parameter has is zero, so counts agree.
        uint64_t nonZero = 0, stored = 0;
        for (const Partition &partition : program.partitions) {
          auto *bytes =
              static_cast<char *>(arenas.resolve(partition.parameters, rank));
          for (uint64_t i = 0; i < partition.parameters.bytes; ++i)
            nonZero += bytes[i] != 0;
        }
        for (const Parameter &parameter : program.parameters)
          forEachPiece(program, parameter, stage == 3, rank,
                       [&](const Piece &piece) { stored += piece.count; });
        EXPECT_LE(nonZero, stored * sizeOf(type));
      }
}

/// A file that neither reads nor writes.
class LostFile final : public Memory {
public:
  void *allocate(uint64_t bytes, const char *) override {
    place.resize(bytes);
    return place.data();
  }
  void release(void *) override {}
  void write(void *, const void *, size_t) override {
    throw std::runtime_error("lost");
  }
  void read(void *, const void *, size_t) override {
    throw std::runtime_error("lost");
  }

private:
  std::vector<char> place;
};

/// What the builder keeps on the host is in a file.
void moveToFile(Program &program) {
  for (Partition &partition : program.partitions)
    for (State &state : partition.states)
      for (StateRange &range : state.ranges)
        if (range.buffer.tier == Tier::Host)
          range.buffer.tier = Tier::File;
  std::swap(program.arenaBytes[spaceOf(Arena::Optimizer, Tier::Host)],
            program.arenaBytes[spaceOf(Arena::Optimizer, Tier::File)]);
}

std::string errorOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const std::runtime_error &failure) {
    return failure.what();
  }
  return "";
}

TEST(StateInitialize, AFileThatIsLostIsThatOfAParameter) {
  Program program = sampleProgram(3, 3, DataType::BF16);
  moveToFile(program);
  LostFile file;
  Arenas arenas(program, false, &file);
  const std::string wanted = "state 'master' of parameter 'c.w': lost";
  EXPECT_EQ(
      errorOf([&] { initializeParameters(program, arenas, 1, 17, nullptr); }),
      wanted);
  const auto ignore = [](uint64_t, uint64_t, const float *) {};
  EXPECT_EQ(errorOf([&] {
              readParameter(program, arenas, 1, program.parameters[2], ignore);
            }),
            wanted);
  // What its values come from is another matter.
  const auto refuse = [](uint64_t, uint64_t, float *) {
    throw std::runtime_error("no values");
  };
  EXPECT_EQ(errorOf([&] {
              setParameter(program, arenas, 1, program.parameters[2], refuse);
            }),
            "no values");
}

TEST(StateInitialize, AFileThatIsLostIsThatOfAConstantState) {
  ProgramBuilder builder(1, 2, DataType::F32);
  builder.kept = {{"sum", 0.1}};
  builder.add(true, {parameter("a", {48}, {InitKind::Ones, 0, 0}),
                     parameter("b", {6, 4}, {InitKind::Ones, 0, 0})});
  moveToFile(builder.program);
  LostFile file;
  Arenas arenas(builder.program, false, &file);
  // The second rank has the second half of the last 48 elements.
  EXPECT_EQ(errorOf([&] { setConstantStates(builder.program, arenas, 0); }),
            "state 'sum' from b[0, 0] on: lost");
  EXPECT_EQ(errorOf([&] { setConstantStates(builder.program, arenas, 1); }),
            "state 'sum' from padding on: lost");
}

TEST(StateInitialize, RoundsToBf16AsTheOptimizerDoes) {
  std::vector<float> values = {floatOf(0x3f808000), floatOf(0xbf808000),
                               floatOf(0x3f807fff), INFINITY, -0.0f};
  std::vector<uint16_t> out(values.size());
  storeElements(DataType::BF16, true, values.data(), out.data(), out.size());
  EXPECT_EQ(out,
            (std::vector<uint16_t>{0x3f81, 0xbf81, 0x3f80, 0x7f80, 0x8000}));
  storeElements(DataType::BF16, false, values.data(), out.data(), out.size());
  EXPECT_EQ(out,
            (std::vector<uint16_t>{0x3f80, 0xbf80, 0x3f80, 0x7f80, 0x8000}));
}

TEST(StateInitialize, SetsConstantsAndControl) {
  Program program;
  program.arenaBytes[static_cast<int>(Arena::Constants)] = 64;
  program.constants.push_back({{Arena::Constants, 8, 0, 4}, "abcd"});
  program.training.accumulation = 4;
  program.training.lossScale.kind = LossScaleKind::Dynamic;
  program.training.lossScale.initial = 65536;
  Arenas arenas(program);
  initializeConstants(program, arenas, 0);
  EXPECT_EQ(
      std::memcmp(arenas.resolve({Arena::Constants, 8, 0, 4}, 0), "abcd", 4),
      0);
  initializeControl(program, arenas, 9);
  const Control &control = arenas.control();
  EXPECT_EQ(control.scale, 65536);
  EXPECT_EQ(control.lossSeed, 16384);
  EXPECT_EQ(control.hysteresis, 2);
  EXPECT_EQ(control.lastOverflow, -1);
  EXPECT_EQ(control.seed, 9u);
  program.constants[0].bytes = "abc";
  EXPECT_EQ(messageOf([&] { initializeConstants(program, arenas, 0); }),
            "program: found 3 bytes of a constant, wanted 4");
}

TEST(StateElements, AreFloats) {
  const float value = 1;
  int64_t stored = 0;
  EXPECT_EQ(messageOf([&] {
              storeElements(DataType::I64, false, &value, &stored, 1);
            }),
            "a parameter of type i64 cannot be set; wanted f32, f16 or bf16");
}

} // namespace
