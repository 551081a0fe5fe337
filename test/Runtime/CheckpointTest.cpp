// Checkpoints between stages, rank counts, types and tiers.
#include "CheckpointTesting.h"

#include "state/Weights.h"

using namespace zrt;
using namespace zrt::testing;

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
    EXPECT_THROW(parseManifest(changed, path), std::runtime_error) << word;
  }
  for (size_t size = 0; size < text.size() - 2; size += 97)
    EXPECT_THROW(parseManifest(text.substr(0, size), path), std::runtime_error);
}
