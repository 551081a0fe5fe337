// Checkpoints between stages, rank counts, types and tiers.
#include "../MessageOf.h"
#include "CheckpointTesting.h"

#include "checkpoint/Shard.h"
#include "state/Weights.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>

using namespace zrt;
using namespace zrt::testing;
using zrt::test::messageOf;

namespace {

struct Shape {
  int stage, ranks;
  DataType type;
  bool splitMaster = false;
  Program program() const {
    return checkpointProgram(stage, ranks, type, splitMaster);
  }
};

const std::vector<Shape> &shapes() {
  static const std::vector<Shape> all = {
      {0, 1, DataType::F32},  {0, 3, DataType::F16},
      {1, 3, DataType::F32},  {1, 2, DataType::BF16, true},
      {2, 4, DataType::BF16}, {3, 1, DataType::F16},
      {3, 4, DataType::F32},  {3, 3, DataType::BF16, true}};
  return all;
}

} // namespace

/// The state is a permutation of elements: who wrote it leaves no trace.
TEST(Checkpoint, EveryStageLoadsWhatAnyOtherSaved) {
  for (const Shape &from : shapes()) {
    TemporaryFolder folder;
    const std::string root = folder.file("run");
    ASSERT_EQ(saveRound(from.program(), root, 1), noErrors(from.program()));
    for (const Shape &to : shapes())
      EXPECT_EQ(expectNewest(to.program(), root), 1)
          << from.stage << " " << from.ranks << " " << to.stage << " "
          << to.ranks;
  }
}

TEST(Checkpoint, KeepsTheControlBlock) {
  Program program = checkpointProgram(2, 2, DataType::F16);
  program.training.lossScale.kind = LossScaleKind::Dynamic;
  program.training.accumulation = 4;
  TemporaryFolder folder;
  ASSERT_EQ(saveRound(program, folder.file("run"), 3), noErrors(program));
  const auto load = [&](const Program &target) {
    Control control;
    onRanks(target.training.ranks, [&](Communicator &communicator) {
      std::vector<std::string> remarks;
      const auto found = findNewest(folder.file("run"), communicator, remarks);
      Arenas arenas(target);
      initializeControl(target, arenas, 0);
      const LoadedCheckpoint loaded =
          loadCheckpoint(*found, target, arenas, communicator);
      EXPECT_EQ(loaded.manifest.update, 33);
      EXPECT_EQ(loaded.manifest.data.consumed, 396u);
      if (communicator.rank() == 0)
        control = arenas.control();
    });
    return control;
  };
  const Control control = load(program);
  EXPECT_EQ(control.seed, 7u);
  EXPECT_EQ(control.steps, 30);
  EXPECT_EQ(control.skipped, 3);
  EXPECT_EQ(control.scale, 8);
  EXPECT_EQ(control.lossSeed, 2);
  EXPECT_EQ(control.iteration, 33);
  EXPECT_EQ(control.lastOverflow, 9);
  EXPECT_EQ(control.hysteresis, 2);
  // A program without a scaler has no use for another's scale.
  const Control plain = load(checkpointProgram(0, 1, DataType::F32));
  EXPECT_EQ(plain.steps, 30);
  EXPECT_EQ(plain.scale, 1);
  EXPECT_EQ(plain.lastOverflow, -1);
}

/// Frozen parameters are computed in 16 bits, and written as they began.
TEST(Checkpoint, FrozenValuesOutliveTheFiles) {
  const Program program = checkpointProgram(3, 2, DataType::F16);
  TemporaryFolder folder;
  const auto exact = [](const Parameter &, uint64_t element, uint64_t count,
                        float *out) {
    for (uint64_t i = 0; i < count; ++i)
      out[i] = 1 + float(element + i) * 0x1p-20f; // f16 has fewer bits
  };
  const auto save = [&](Communicator &communicator, const Arenas &arenas,
                        const StartingValues &start, int round) {
    saveCheckpoint(folder.file("run"), program, arenas, communicator,
                   positionOf(round), start, 1);
  };
  const auto errors = onRanks(2, [&](Communicator &communicator) {
    Arenas arenas(program), later(program);
    setRound(program, arenas, communicator.rank(), 1);
    for (const Parameter &parameter : program.parameters)
      if (isRoundedStart(program, parameter))
        setParameter(program, arenas, communicator.rank(), parameter,
                     [&](uint64_t element, uint64_t count, float *out) {
                       exact(parameter, element, count, out);
                     });
    save(communicator, arenas, exact, 1);
    std::vector<std::string> remarks;
    const auto found = findNewest(folder.file("run"), communicator, remarks);
    initializeControl(program, later, 0);
    const LoadedCheckpoint loaded =
        loadCheckpoint(*found, program, later, communicator);
    communicator.barrier();
    save(communicator, later, loaded.start, 2); // removes the first
    save(communicator, later, loaded.start, 3);
    float value = 0;
    loaded.start(program.parameters.back(), 35, 1, &value);
    EXPECT_EQ(value, 1 + 35 * 0x1p-20f);
  });
  EXPECT_EQ(errors, noErrors(program));
}

/// Files of this process that are open below `folder`, removed ones included.
static size_t countOpen(const std::string &folder) {
  size_t count = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone; // the iterator's own
    const auto file = std::filesystem::read_symlink(entry.path(), gone);
    count += !gone && file.string().rfind(folder, 0) == 0;
  }
  return count;
}

/// The disk would keep what is open, also once it is removed.
TEST(Checkpoint, LoadedFilesAreClosed) {
  for (const DataType type : {DataType::F32, DataType::F16}) {
    const Program program = checkpointProgram(1, 1, type);
    TemporaryFolder folder;
    ASSERT_EQ(saveRound(program, folder.file("run"), 1), noErrors(program));
    onRanks(1, [&](Communicator &communicator) {
      std::vector<std::string> remarks;
      const auto found = findNewest(folder.file("run"), communicator, remarks);
      Arenas arenas(program);
      initializeControl(program, arenas, 0);
      const LoadedCheckpoint loaded =
          loadCheckpoint(*found, program, arenas, communicator);
      // One holds the frozen values, which f16 rounds.
      EXPECT_EQ(countOpen(folder.file("run")), type == DataType::F16 ? 1u : 0u);
    });
  }
}

TEST(Checkpoint, KeepsAsManyAsAreWanted) {
  const Program program = checkpointProgram(1, 2, DataType::F32);
  TemporaryFolder folder;
  const std::string root = folder.file("run");
  for (int round = 1; round <= 5; ++round) {
    ASSERT_EQ(saveRound(program, root, round, 2, FileSystem::disk()),
              noErrors(program));
    EXPECT_EQ(findCheckpoints(root).complete.size(),
              size_t(std::min(round, 2)));
  }
  EXPECT_EQ(FileSystem::disk().list(root),
            (std::vector<std::string>{"latest", "update-0000000044",
                                      "update-0000000055"}));
  EXPECT_EQ(readText(root + "/latest"), "update-0000000055\n");
  EXPECT_EQ(saveRound(program, root, 6), noErrors(program));
  EXPECT_EQ(findCheckpoints(root).complete.size(), 3u);
}

static std::string refusalOf(const std::string &text) {
  try {
    parseManifest(text, "it");
  } catch (const std::exception &error) {
    return error.what();
  }
  return "";
}

TEST(Checkpoint, ManifestsAreCheckedWordByWord) {
  const Program program = checkpointProgram(1, 2, DataType::F32);
  TemporaryFolder folder;
  ASSERT_EQ(saveRound(program, folder.file("run"), 1), noErrors(program));
  const std::string path = folder.file("run/update-0000000011/manifest.json");
  const std::string text = readText(path);
  EXPECT_EQ(writeManifest(parseManifest(text, path)), text);
  for (const char *word : {"\"stage\": 1", "\"consumed\": 132", "exp_avg"}) {
    std::string changed = text;
    changed[changed.find(word) + std::strlen(word) - 1] ^= 1;
    EXPECT_NE(refusalOf(changed).find("its checksum is wrong"),
              std::string::npos)
        << word;
  }
  for (size_t size = 0; size < text.size() - 2; size += 97)
    EXPECT_THROW(parseManifest(text.substr(0, size), path), std::runtime_error);
}

/// `manifest` with `value` in the place of what is at `pointer`, and the
/// checksum of that.
static std::string forged(const std::string &manifest, const char *pointer,
                          const std::string &value) {
  using Json = nlohmann::ordered_json;
  Json json = Json::parse(manifest), *at = &json;
  std::istringstream parts(pointer);
  for (std::string part; std::getline(parts, part, '/');)
    if (!part.empty())
      at = at->is_array() ? &(*at)[std::stoul(part)] : &(*at)[part];
  *at = Json::parse(value);
  json.erase("checksum");
  const std::string bytes = json.dump();
  json["checksum"] = hexadecimal(digestBytes(bytes.data(), bytes.size()));
  return json.dump(1);
}

/// A checksum tells accidents, and no intent.
TEST(Checkpoint, ManifestsHaveValuesThatARunHas) {
  const Program program = checkpointProgram(1, 2, DataType::F32);
  TemporaryFolder folder;
  ASSERT_EQ(saveRound(program, folder.file("run"), 1), noErrors(program));
  const std::string text =
      readText(folder.file("run/update-0000000011/manifest.json"));
  EXPECT_EQ(refusalOf(forged(text, "/stage", "1")), "");
  struct Case {
    const char *pointer, *value, *refusal;
  };
  for (const Case &each : std::initializer_list<Case>{
           {"/update", "-1", "its update is -1, wanted a whole number from 0"},
           {"/update", "11.5", "its update is 11.5, wanted"},
           {"/update", "\"11\"", "its update is \"11\", wanted"},
           {"/update", "9223372036854775807", "its update is 9223372036854"},
           {"/update", "18446744073709551615", "its update is 1844674407370"},
           {"/update", "10", "its update is 10, wanted at least the 10 done"},
           {"/steps", "-1", "its steps is -1"},
           {"/steps", "9223372036854775807", "its steps is 92233720368547758"},
           {"/skipped", "2", "its update is 11, wanted at least"},
           {"/stage", "4", "its stage is 4, wanted a whole number from 0 to 3"},
           {"/ranks", "-1", "its ranks is -1"},
           {"/ranks", "0", "its ranks is 0, wanted a whole number from 1"},
           {"/ranks", "3", "its number of files is 2, wanted 3"},
           {"/ranks", "4294967298", "its ranks is 4294967298"},
           {"/mesh", "1", "its mesh is 1, wanted a text"},
           {"/loss_scale/kind", "\"other\"", "its loss scaler is 'other'"},
           {"/loss_scale/scale", "0", "its loss scale is 0"},
           {"/loss_scale/scale", "1e39", "its loss scale is 1e+39"},
           {"/loss_scale/iteration", "-1", "its iteration is -1"},
           {"/loss_scale/last_overflow", "-2", "its last_overflow is -2"},
           {"/loss_scale/hysteresis", "4294967296", "its hysteresis is 42949"},
           {"/data/consumed", "-4", "its consumed is -4"},
           {"/data/consumed", "1.5", "its consumed is 1.5"},
           {"/signature", "\"0000000000000000\"",
            "its signature is 0000000000000000, wanted "},
           {"/tensors/0/shape/0", "-7", "its shape of 'fc1.w' is [-7,11]"},
           {"/tensors/0/shape/0", "7.0", "its shape of 'fc1.w' is [7.0,11]"},
           {"/tensors/0/shape/0", "4611686018427387903",
            "its shape of 'fc1.w' is [4611686018427387903,11], wanted sizes "
            "that 64 bits can count"},
           {"/tensors/1/name", "\"fc1.w\"", "it has the tensor 'fc1.w' twice"},
           {"/tensors/0/states", "{}", "its list of what is kept of 'fc1.w'"},
           {"/files/0/name", "\"../rank-00000-of-00002.safetensors\"",
            "its file of rank 0 is '../rank-00000-of-00002.safetensors'"},
           {"/files/1/name", "\"rank-00000-of-00002.safetensors\"",
            "its file of rank 1 is 'rank-00000-of-00002.safetensors'"},
           {"/files/0/bytes", "-1", "its bytes is -1"},
           {"/files/0/digest", "\"12\"",
            "its digest is '12', wanted a digest of 16 hexadecimal digits"},
           {"/files", "{}", "its files is object, wanted a list"},
           {"/version", "1",
            "its version is 1, and this program reads version 2"},
           {"/version", "3",
            "its version is 3, and this program reads version 2"},
           {"/version", "2.0", "its version is 2.0, and this program reads"}})
    EXPECT_NE(
        refusalOf(forged(text, each.pointer, each.value)).find(each.refusal),
        std::string::npos)
        << each.pointer << ": "
        << refusalOf(forged(text, each.pointer, each.value));
}

/// Of five files, so that the bytes of four can be the most that each may have.
TEST(Checkpoint, ManifestsHaveBytesThatCanBeCounted) {
  const Program program = checkpointProgram(1, 5, DataType::F32);
  TemporaryFolder folder;
  ASSERT_EQ(saveRound(program, folder.file("run"), 1), noErrors(program));
  std::string text =
      readText(folder.file("run/update-0000000011/manifest.json"));
  for (const char *pointer :
       {"/files/0/bytes", "/files/1/bytes", "/files/2/bytes", "/files/3/bytes"})
    text = forged(text, pointer, "4611686018427387903");
  EXPECT_NE(
      refusalOf(text).find("its files have more bytes than 64 bits count"),
      std::string::npos)
      << refusalOf(text);
}

TEST(Checkpoint, FilesHaveEveryElementOnce) {
  const Program program = checkpointProgram(1, 2, DataType::F32);
  TemporaryFolder folder;
  ASSERT_EQ(saveRound(program, folder.file("run"), 1), noErrors(program));
  const std::string path = folder.file("run/update-0000000011");
  const Manifest manifest =
      parseManifest(readText(path + "/manifest.json"), path);
  const ShardReader reader(path, manifest);
  std::vector<float> values(78);
  EXPECT_EQ(messageOf([&] {
              reader.read("fc1.w", "sum", 0, values.size(), values.data());
            }),
            "the checkpoint has fewer elements of sum of 'fc1.w' than are "
            "wanted");
  EXPECT_EQ(messageOf([&] { reader.read("fc1.w", "m", 0, 1, values.data()); }),
            "the checkpoint has no m of 'fc1.w'");
  Manifest second = manifest;
  second.files.erase(second.files.begin());
  const std::string refusal = messageOf([&] { ShardReader(path, second); });
  EXPECT_EQ(refusal.rfind(path + "/rank-00001-of-00002.safetensors: found "
                                 "element ",
                          0),
            0u)
      << refusal;
  EXPECT_NE(refusal.find("', wanted element 0"), std::string::npos) << refusal;
}

TEST(Checkpoint, AFileIsNoFolder) {
  TemporaryFolder folder;
  std::ofstream(folder.file("run"));
  EXPECT_EQ(messageOf([&] { FileSystem::disk().list(folder.file("run")); }),
            folder.file("run") + ": cannot be listed: Not a directory");
}

TEST(Checkpoint, ManifestsAreNotNestedDeep) {
  const auto nested = [](size_t levels) {
    return "{\n\"a [ string\": " + std::string(levels, '[') +
           std::string(levels, ']') + "}";
  };
  for (const size_t levels : {size_t(100), size_t(300'000)})
    EXPECT_EQ(refusalOf(nested(levels)),
              "it: cannot be read: line 2: objects and lists are nested more "
              "than 100 deep; remove the inner ones");
  EXPECT_EQ(refusalOf(nested(99)).find("nested"), std::string::npos);
}
