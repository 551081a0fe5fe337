// Weights in files: round trips between stages, errors on all ranks, memory.
#include "../../Sanitized.h"
#include "StateTesting.h"

#include "io/Digest.h"
#include "io/SafeTensors.h"
#include "state/Elements.h"
#include "state/Initialize.h"
#include "state/Weights.h"

#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace zrt;
using namespace zrt::testing;

namespace {

/// Starts a model from `seed` on all ranks and saves it.
std::vector<std::string> save(const std::string &path, const Program &program,
                              uint64_t seed) {
  return onRanks(program.training.ranks, [&](Communicator &communicator) {
    Arenas arenas(program);
    initializeParameters(program, arenas, communicator.rank(), seed, nullptr);
    saveWeights(path, program, arenas, communicator, initialValuesOf(seed));
  });
}

std::vector<std::string> load(const std::string &path, const Program &program) {
  return onRanks(program.training.ranks, [&](Communicator &communicator) {
    Arenas arenas(program);
    loadWeights(path, program, arenas, communicator);
  });
}

/// A file of the program's tensors in `type`, of zeros without `valuesOf`.
void writeTensors(
    const std::string &path, const Program &program, TensorDataType type,
    const std::function<std::vector<float>(const Parameter &)> &valuesOf) {
  std::vector<TensorEntry> entries;
  for (const Parameter &parameter : program.parameters) {
    TensorEntry entry;
    entry.name = parameter.name;
    entry.type = type;
    entry.shape = parameter.shape;
    entries.push_back(entry);
  }
  const std::string header = makeSafeTensorsHeader(entries, {{"format", "pt"}});
  std::string bytes = header + std::string(entries.back().end, 0);
  for (size_t i = 0; valuesOf && i < entries.size(); ++i) {
    const std::vector<float> values = valuesOf(program.parameters[i]);
    storeElements(type == TensorDataType::F32   ? DataType::F32
                  : type == TensorDataType::F16 ? DataType::F16
                                                : DataType::BF16,
                  false, values.data(),
                  bytes.data() + header.size() + entries[i].begin,
                  values.size());
  }
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A file of `tensors`: F32 where there are as many bytes as four an element,
/// else U8.
struct RawTensor {
  std::string name;
  std::vector<int64_t> shape;
  std::string bytes;
};
void writeRaw(const std::string &path, const std::vector<RawTensor> &tensors) {
  std::vector<TensorEntry> entries;
  std::string data;
  for (const RawTensor &tensor : tensors) {
    TensorEntry entry;
    entry.name = tensor.name;
    entry.shape = tensor.shape;
    int64_t elements = 1;
    for (int64_t size : tensor.shape)
      elements *= size;
    entry.type = tensor.bytes.size() == size_t(elements) * 4
                     ? TensorDataType::F32
                     : TensorDataType::U8;
    entries.push_back(entry);
    data += tensor.bytes;
  }
  std::ofstream(path, std::ios::binary)
      << makeSafeTensorsHeader(entries, {}) << data;
}

/// The parameters of `program` as F32, element i of each with the value i.
std::vector<RawTensor> rawParameters(const Program &program) {
  std::vector<RawTensor> tensors;
  for (const Parameter &parameter : program.parameters) {
    std::string bytes;
    for (int64_t i = 0; i < parameter.elements(); ++i) {
      const float value = float(i % 1000);
      bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
    }
    tensors.push_back({parameter.name, parameter.shape, bytes});
  }
  return tensors;
}

void expectAll(const std::vector<std::string> &errors, const char *what) {
  for (const std::string &error : errors)
    EXPECT_NE(error.find(what), std::string::npos)
        << "found '" << error << "', wanted '" << what << "'";
}

void expectNone(const std::vector<std::string> &errors) {
  for (const std::string &error : errors)
    EXPECT_EQ(error, "");
}

std::string contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// Of all tiers.
std::string bytesOf(const Arenas &arenas, Arena arena) {
  std::string all;
  for (Tier tier : {Tier::Device, Tier::Host}) {
    uint64_t bytes = arenas.bytes(arena, tier);
    auto *begin = static_cast<const char *>(
        arenas.resolve({arena, 0, 0, bytes, kAllRanks, tier}, 0));
    all.append(begin, begin + bytes);
  }
  return all;
}

TEST(StateWeights, EveryStageWritesTheSameFile) {
  TemporaryFolder folder;
  for (DataType type : {DataType::F32, DataType::BF16}) {
    std::string wanted;
    for (int stage : {0, 1, 2, 3})
      for (int ranks : {1, 3, 4}) {
        std::string path = folder.file("weights.safetensors");
        expectNone(save(path, sampleProgram(stage, ranks, type), 3));
        std::ifstream file(path);
        std::string bytes((std::istreambuf_iterator<char>(file)), {});
        if (wanted.empty())
          wanted = bytes;
        EXPECT_EQ(bytes, wanted) << "stage " << stage << " ranks " << ranks;
      }
  }
  EXPECT_EQ(folder.entries(), 1u) << "a partial file was left";
}

/// Another run saves to the same path while this one writes its share.
TEST(StateWeights, OfTwoRunsTheLastStaysWhole) {
  TemporaryFolder folder;
  const std::string path = folder.file("weights.safetensors"),
                    alone = folder.file("alone.safetensors");
  const Program program = sampleProgram(2, 1, DataType::BF16);
  expectNone(save(alone, program, 3));
  bool interrupted = false;
  expectNone(onRanks(1, [&](Communicator &communicator) {
    Arenas arenas(program);
    initializeParameters(program, arenas, 0, 3, nullptr);
    saveWeights(path, program, arenas, communicator,
                [&](const Parameter &parameter, uint64_t element,
                    uint64_t count, float *out) {
                  initialValuesOf(3)(parameter, element, count, out);
                  if (!interrupted)
                    expectNone(save(path, program, 5));
                  interrupted = true;
                });
  }));
  EXPECT_TRUE(interrupted);
  EXPECT_EQ(contentOf(path), contentOf(alone));
  EXPECT_EQ(folder.entries(), 2u) << "a partial file was left";
}

/// Replicas hold the same slices, and write each element once.
TEST(StateWeights, ReplicasWriteTheSameFile) {
  TemporaryFolder folder;
  const std::string path = folder.file("weights.safetensors");
  expectNone(save(path, sampleProgram(0, 1, DataType::BF16), 3));
  const std::string wanted = contentOf(path);
  for (int stage : {0, 1, 2, 3})
    for (int shards : {2, 3})
      for (bool inner : {true, false}) {
        const Program program =
            replicated(sampleProgram(stage, shards, DataType::BF16), 2, inner);
        expectNone(save(path, program, 3));
        EXPECT_EQ(contentOf(path), wanted) << "stage " << stage;
      }
}

/// `program` on as many times the ranks, which each have a part of every
/// parameter, of two pieces where its last dimension has as many indices, and
/// another time where it has experts, its first dimension.
Program cutInParts(Program program, int parts, int experts = 1) {
  const int shards = program.training.ranks;
  program.training.ranks = shards * parts * experts;
  program.mesh.axes = {
      {"data", shards}, {"tensor", parts}, {"expert", experts}};
  program.mesh.groups = {{{0, 1, 2}}, {{0}}, {{1}}, {{2}}};
  program.mesh.samples = 1;
  setGroups(program, 1);
  for (Parameter &parameter : program.parameters) {
    if (parameter.elements() == 0 || parameter.shape.empty())
      continue; // whole on every rank
    int64_t &size = parameter.shape.back();
    parameter.cuts = {
        {uint32_t(parameter.shape.size() - 1), 1, {size * parts}, 2}};
    if (size > 1)
      parameter.cuts[0].pieces = {(size - 1) * parts, parts};
    size *= parts;
    if (experts == 1 || parameter.shape.size() == 1)
      continue;
    parameter.shape.front() *= experts;
    parameter.cuts.push_back({0, 1, {parameter.shape.front()}, 3});
  }
  return program;
}

/// Each rank has other elements, which start as those of the whole, and are
/// written once.
TEST(StateWeights, PartsAreWrittenAsTheWhole) {
  TemporaryFolder folder;
  const std::string path = folder.file("weights.safetensors");
  for (int stage : {0, 1, 2, 3})
    for (int shards : {1, 2})
      for (int parts : {2, 3}) {
        // Three parts, of three experts.
        Program program =
            cutInParts(sampleProgram(stage, shards, DataType::BF16), parts,
                       /*experts=*/parts == 3 ? 3 : 1);
        expectNone(save(path, program, 6));
        SafeTensorsFile file(path);
        for (const Parameter &parameter : program.parameters) {
          std::vector<float> wanted(parameter.elements()), found(wanted.size());
          initialValues(parameter, 6, 0, wanted.size(), wanted.data());
          file.readFloats(*file.find(parameter.name), 0, found.size(),
                          found.data());
          EXPECT_EQ(found, wanted)
              << parameter.name << " in " << parts << " parts, stage " << stage;
        }
      }
}

/// Padding is behind the rows, in what the last rank has, and in no file.
TEST(StateWeights, PaddingOfPartsIsNotWritten) {
  TemporaryFolder folder;
  const std::string path = folder.file("weights.safetensors");
  for (int shards : {1, 2}) {
    Program program = cutInParts(sampleProgram(2, shards, DataType::BF16), 2);
    Parameter *padded = nullptr;
    for (Parameter &parameter : program.parameters)
      if (parameter.shape.size() == 1 && !parameter.cuts.empty())
        padded = &parameter;
    ASSERT_NE(padded, nullptr);
    padded->cuts[0].pieces = {padded->shape[0]};
    padded->shape[0] -= 1;
    padded->padding = 1;
    expectNone(save(path, program, 6));
    SafeTensorsFile file(path);
    const TensorEntry *entry = file.find(padded->name);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->shape, padded->shape);
    std::vector<float> wanted(padded->elements()), found(wanted.size());
    initialValues(*padded, 6, 0, wanted.size(), wanted.data());
    file.readFloats(*entry, 0, found.size(), found.data());
    EXPECT_EQ(found, wanted);
  }
}

TEST(StateWeights, HoldTheMastersUnderTheModelsNames) {
  TemporaryFolder folder;
  std::string path = folder.file("weights.safetensors");
  Program program = sampleProgram(2, 3, DataType::BF16);
  expectNone(save(path, program, 8));
  SafeTensorsFile file(path);
  EXPECT_EQ(file.tensors().size(), program.parameters.size());
  for (const Parameter &parameter : program.parameters) {
    const TensorEntry *entry = file.find(parameter.name);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->shape, parameter.shape);
    EXPECT_EQ(entry->type, TensorDataType::F32);
    std::vector<float> wanted(parameter.elements()), found(wanted.size());
    initialValues(parameter, 8, 0, wanted.size(), wanted.data());
    file.readFloats(*entry, 0, found.size(), found.data());
    EXPECT_EQ(found, wanted) << parameter.name;
  }
}

TEST(StateWeights, LoadIntoEveryStage) {
  TemporaryFolder folder;
  for (DataType type : {DataType::F32, DataType::BF16, DataType::F16})
    for (int stage : {0, 1, 2, 3}) {
      std::string path = folder.file("weights.safetensors");
      expectNone(save(path, sampleProgram(3, 2, type), 4));
      Program program = sampleProgram(stage, 3, type);
      expectNone(onRanks(3, [&](Communicator &communicator) {
        Arenas loaded(program), wanted(program);
        initializeParameters(program, wanted, communicator.rank(), 4, nullptr);
        loadWeights(path, program, loaded, communicator);
        for (Arena arena : {Arena::Parameters, Arena::Optimizer})
          EXPECT_EQ(bytesOf(loaded, arena), bytesOf(wanted, arena))
              << nameOf(arena) << " stage " << stage;
      }));
    }
}

/// A file does not tell whether masters were split.
TEST(StateWeights, SplitMastersAreWrittenAndReadWhole) {
  TemporaryFolder folder;
  std::string path = folder.file("whole"), other = folder.file("split");
  expectNone(save(path, sampleProgram(2, 2, DataType::BF16), 4));
  for (int stage : {0, 1, 2, 3}) {
    Program program = sampleProgram(stage, 3, DataType::BF16, true);
    expectNone(save(other, program, 4));
    EXPECT_EQ(contentOf(other), contentOf(path)) << stage;
    expectNone(onRanks(3, [&](Communicator &communicator) {
      Arenas loaded(program), wanted(program);
      initializeParameters(program, wanted, communicator.rank(), 4, nullptr);
      loadWeights(path, program, loaded, communicator);
      for (Arena arena : {Arena::Parameters, Arena::Optimizer})
        EXPECT_EQ(bytesOf(loaded, arena), bytesOf(wanted, arena))
            << nameOf(arena) << " stage " << stage;
    }));
  }
}

TEST(StateWeights, NamesShapesAndTypesMustBeTheModels) {
  TemporaryFolder folder;
  std::string path = folder.file("weights.safetensors");
  Program program = sampleProgram(1, 2, DataType::F32);
  Program other = program;
  other.parameters[0].name = "stranger";
  other.parameters[2].shape = {33, 64};
  expectNone(save(path, other, 1));
  std::vector<std::string> errors = load(path, program);
  expectAll(errors, "weights.safetensors: does not match the model");
  expectAll(errors, "parameters that the file does not have: a.w");
  expectAll(errors, "tensors that are no parameters of this model: stranger");
  expectAll(errors, "c.w (found [33, 64], wanted [64, 33])");
  writeTensors(path, program, TensorDataType::I32, {});
  expectAll(load(path, program), "other types: a.w (found I32, wanted F32, F16 "
                                 "or BF16), a.scale (found I32");
}

/// Buffers whose values the step has as constants must have these; what it does
/// not read may be anything.
TEST(StateWeights, BuffersMustBeThoseOfTheImport) {
  TemporaryFolder folder;
  const std::string path = folder.file("weights.safetensors");
  for (int stage : {0, 3}) {
    Program program = sampleProgram(stage, 3, DataType::F32);
    // More than a block of the digest.
    std::string mask((size_t(5) << 20) + 3, 'm');
    program.fileTensors = {
        {"mask", "", hexadecimal(digestBytes(mask.data(), mask.size()))},
        {"empty", "", hexadecimal(digestBytes("", 0))},
        {"counter", "", ""}};
    std::vector<RawTensor> tensors = rawParameters(program);
    writeRaw(path, tensors);
    expectNone(load(path, program)); // A file may have none of them.
    tensors.push_back({"mask", {int64_t(mask.size())}, mask});
    tensors.push_back({"empty", {0}, ""});
    tensors.push_back({"counter", {1}, "x"});
    writeRaw(path, tensors);
    expectNone(load(path, program));
    tensors[tensors.size() - 3].bytes.back() = 'n';
    writeRaw(path, tensors);
    expectAll(load(path, program),
              "does not match the model:\n  buffers of other values than those "
              "that it was imported with; import it with these: mask");
    tensors[tensors.size() - 3].name = "mask2";
    writeRaw(path, tensors);
    expectAll(load(path, program),
              "tensors that are no parameters of this model: mask2");
  }
}

/// A tied parameter has one value under all of its names; one of them will do.
TEST(StateWeights, TiedNamesAreOneParameter) {
  TemporaryFolder folder;
  const std::string path = folder.file("weights.safetensors"),
                    wanted = folder.file("wanted.safetensors");
  for (int stage : {0, 3}) {
    Program program = sampleProgram(stage, 3, DataType::F32);
    program.fileTensors = {{"tied", "a.w", ""}};
    std::vector<RawTensor> tensors = rawParameters(program);
    writeRaw(path, tensors);
    ASSERT_EQ(tensors[0].name, "a.w");
    tensors.push_back(tensors[0]);
    tensors.back().name = "tied";
    writeRaw(path, tensors);
    expectNone(load(path, program));
    tensors.back().bytes.back() ^= 1;
    writeRaw(path, tensors);
    // The rank that has the element says so, and the others hear of it.
    expectAll(
        load(path, program),
        "'tied' is 'a.w' in this model, and has other values in the file; "
        "leave one of them out");
    tensors[0].name = "tied";
    tensors.pop_back();
    writeRaw(path, tensors);
    onRanks(program.training.ranks, [&](Communicator &communicator) {
      Arenas arenas(program);
      StartingValues start = loadWeights(path, program, arenas, communicator);
      saveWeights(wanted, program, arenas, communicator, start);
      float value = 0;
      start(program.parameters[0], 7, 1, &value);
      EXPECT_EQ(value, 7);
    });
    SafeTensorsFile saved(wanted);
    ASSERT_NE(saved.find("a.w"), nullptr);
    float value = 0;
    saved.readFloats(*saved.find("a.w"), 9, 1, &value);
    EXPECT_EQ(value, 9);
  }
}

/// 16-bit values are exact in f32, and what is wider is rounded to nearest.
TEST(StateWeights, FilesIn16BitsLoadIntoEveryType) {
  TemporaryFolder folder;
  const std::string path = folder.file("weights.safetensors");
  const auto as = [](DataType type, float value) {
    uint16_t half;
    storeElements(type, false, &value, &half, 1);
    loadElements(type, &half, &value, 1);
    return value;
  };
  for (const TensorDataType written :
       {TensorDataType::F16, TensorDataType::BF16}) {
    const DataType half =
        written == TensorDataType::F16 ? DataType::F16 : DataType::BF16;
    for (const DataType type : {DataType::F32, DataType::BF16, DataType::F16}) {
      Program program = sampleProgram(2, 3, type);
      for (Parameter &parameter : program.parameters)
        parameter.modelType = type;
      writeTensors(path, program, written, [&](const Parameter &parameter) {
        std::vector<float> values(parameter.elements());
        initialValues(parameter, 5, 0, values.size(), values.data());
        return values;
      });
      expectNone(onRanks(3, [&](Communicator &communicator) {
        Arenas arenas(program);
        loadWeights(path, program, arenas, communicator);
        for (const Parameter &parameter : program.parameters) {
          std::vector<float> wanted(parameter.elements());
          initialValues(parameter, 5, 0, wanted.size(), wanted.data());
          const bool rounded = type != DataType::F32 &&
                               !partitionOf(program, parameter).master();
          readParameter(
              program, arenas, communicator.rank(), parameter,
              [&](uint64_t element, uint64_t count, const float *values) {
                for (uint64_t i = 0; i < count; ++i) {
                  const float exact = as(half, wanted[element + i]);
                  EXPECT_EQ(values[i], rounded ? as(type, exact) : exact)
                      << parameter.name << " " << element + i;
                }
              });
        }
      }));
    }
  }
}

TEST(StateWeights, ValuesBeyondTheTypeAreRefused) {
  TemporaryFolder folder;
  const std::string path = folder.file("weights.safetensors");
  const auto constant = [](float value) {
    return [value](const Parameter &parameter) {
      return std::vector<float>(parameter.elements(), value);
    };
  };
  const Program program = sampleProgram(1, 2, DataType::F16);
  writeTensors(path, program, TensorDataType::F32, constant(65519));
  expectNone(load(path, program));
  writeTensors(path, program, TensorDataType::BF16, constant(65536));
  expectAll(load(path, program),
            " of 'a.w' is 65536, which is too large for f16, the type that "
            "this program stores: its largest value is 65504");
  expectNone(load(path, sampleProgram(1, 2, DataType::BF16)));
  writeTensors(path, program, TensorDataType::F32, constant(INFINITY));
  expectNone(load(path, program));
}

/// Nothing of it is stored anywhere, and its name is in the file.
TEST(StateWeights, ParametersWithoutElementsGoOutAndIn) {
  TemporaryFolder folder;
  const std::string path = folder.file("weights.safetensors");
  for (const DataType type : {DataType::F32, DataType::BF16})
    for (const int stage : {0, 1, 2, 3}) {
      ProgramBuilder builder(stage, 4, type);
      builder.add(true, {parameter("none", {0, 7}, {InitKind::Normal, 0, 1}),
                         parameter("few", {3}, {InitKind::Normal, 0, 1}),
                         parameter("last", {2, 0}, {InitKind::Ones, 0, 0})});
      builder.add(false, {parameter("frozen", {0}, {InitKind::Ones, 0, 0})});
      expectNone(save(path, builder.program, 1));
      const SafeTensorsFile file(path);
      EXPECT_EQ(file.find("none")->shape, std::vector<int64_t>({0, 7}));
      EXPECT_EQ(file.find("last")->elements(), 0u);
      EXPECT_EQ(file.find("few")->elements(), 3u);
      expectNone(load(path, builder.program));
    }
}

/// Training does not touch a frozen parameter, so neither do 16 bits.
TEST(StateWeights, FrozenParametersKeepTheirBits) {
  TemporaryFolder folder;
  const std::string path = folder.file("one"), other = folder.file("other");
  const auto copy = [&](const Program &program, bool change) {
    return onRanks(3, [&](Communicator &communicator) {
      Arenas arenas(program);
      const StartingValues start =
          loadWeights(path, program, arenas, communicator);
      if (change) // the file, in place, while it is open
        writeTensors(path, program, TensorDataType::F32,
                     [](const Parameter &parameter) {
                       return std::vector<float>(parameter.elements(), 7);
                     });
      communicator.barrier();
      saveWeights(other, program, arenas, communicator, start);
    });
  };
  for (const DataType type : {DataType::BF16, DataType::F16})
    for (const int stage : {0, 1, 2, 3}) {
      const Program program = sampleProgram(stage, 3, type);
      expectNone(save(path, sampleProgram(stage, 3, DataType::F32), 6));
      expectNone(copy(program, false));
      EXPECT_EQ(contentOf(other), contentOf(path)) << stage;
      expectNone(save(other, program, 6));
      EXPECT_EQ(contentOf(other), contentOf(path)) << stage;
    }
  expectAll(copy(sampleProgram(2, 3, DataType::BF16), true),
            "the frozen parameter 'table' is not what the run started from");
}

TEST(StateWeights, ErrorsReachAllRanks) {
  TemporaryFolder folder;
  Program program = sampleProgram(3, 3, DataType::F32);
  expectAll(load(folder.file("absent"), program), "No such file");
  expectAll(save(folder.file("absent/weights"), program, 1), "absent/weights");
  // Only one rank fails, in the middle.
  std::string path = folder.file("weights.safetensors");
  expectNone(save(path, program, 1));
  auto size = std::filesystem::file_size(path);
  auto errors = onRanks(3, [&](Communicator &communicator) {
    Program mine = program;
    if (communicator.rank() == 1)
      mine.partitions[1].parameters.bytes = 4;
    Arenas arenas(mine);
    saveWeights(path, mine, arenas, communicator, initialValuesOf(1));
  });
  expectAll(errors, "beyond its partition's memory");
  EXPECT_NE(errors[0].find("rank 1: "), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(path), size);
  EXPECT_EQ(folder.entries(), 1u);
  // The name of a folder cannot be replaced by a file.
  std::filesystem::create_directory(folder.file("taken"));
  expectAll(save(folder.file("taken"), program, 1), "cannot be replaced");
  EXPECT_EQ(folder.entries(), 2u);
}

/// One rank of many, whose peers are imagined: they agree with everything.
class LonelyCommunicator : public Communicator {
public:
  LonelyCommunicator(int rank, int ranks) : mine(rank), all(ranks) {}
  int rank() const override { return mine; }
  int ranks() const override { return all; }
  Ticket start(Collective, Reduction, const std::vector<Transfer> &) override {
    return 0;
  }
  void wait(Ticket) override {}
  void barrier() override {}
  std::unique_ptr<Communicator> split(int, int) override { return nullptr; }
  void abort(const std::string &) override {}

private:
  int mine, all;
};

/// Address space of this process, in bytes.
uint64_t addressSpace() {
  std::ifstream file("/proc/self/statm");
  uint64_t pages = 0;
  file >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

/// Initialises, saves and loads rank 0's part of a model in a process that may
/// grow by less than the model.
int runCapped(const Program &program, const std::string &path, uint64_t most) {
  struct rlimit limit;
  limit.rlim_cur = limit.rlim_max = addressSpace() + most;
  if (setrlimit(RLIMIT_AS, &limit) != 0)
    return 2;
  try {
    LonelyCommunicator communicator(0, program.training.ranks);
    Arenas arenas(program), again(program);
    initializeParameters(program, arenas, 0, 1, nullptr);
    saveWeights(path, program, arenas, communicator, initialValuesOf(1));
    loadWeights(path, program, again, communicator);
    return std::memcmp(arenas.addresses()[0], again.addresses()[0],
                       arenas.bytes(Arena::Parameters)) == 0
               ? 0
               : 3;
  } catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}

TEST(StateWeights, NoRankHoldsTheWholeModel) {
  if (kIsSanitized)
    GTEST_SKIP() << "sanitizers reserve more address space than the cap";
  constexpr int ranks = 32;
  constexpr int64_t elements = int64_t(1) << 26; // 256 MiB in f32
  ProgramBuilder builder(3, ranks, DataType::F32);
  builder.add(true, {parameter("w", {elements}, {InitKind::Uniform, -1, 1})});
  TemporaryFolder folder;
  std::string path = folder.file("weights.safetensors");
  // Two copies of this rank's 8 MiB, and what libraries need: a fourth.
  for (auto [cap, wanted] : {std::pair(elements, 0), {elements / 32, 1}}) {
    pid_t child = fork();
    if (child == 0)
      _exit(runCapped(builder.program, path, static_cast<uint64_t>(cap)));
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), wanted);
  }
}

} // namespace
