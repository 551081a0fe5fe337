// Errors: damaged files, other programs, full disks. All ranks end together.
#include "CheckpointTesting.h"

#include <fstream>
#include <sys/stat.h>

using namespace zrt;
using namespace zrt::testing;

namespace {

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// Loads the newest checkpoint; what each rank threw, and the remarks.
std::vector<std::string> load(const Program &program, const std::string &root,
                              std::vector<std::string> *remarks = nullptr) {
  return onRanks(program.training.ranks, [&](Communicator &communicator) {
    std::vector<std::string> said;
    const auto found = findNewest(root, communicator, said);
    if (communicator.rank() == 0 && remarks)
      *remarks = said;
    Arenas arenas(program);
    initializeControl(program, arenas, 0);
    if (found)
      loadCheckpoint(*found, program, arenas, communicator);
  });
}

class CheckpointFault : public ::testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(saveRound(program, root, 1), noErrors(program));
    ASSERT_EQ(saveRound(program, root, 2), noErrors(program));
  }
  void expectError(const Program &target, const std::string &wanted) {
    for (const std::string &error : load(target, root))
      EXPECT_TRUE(contains(error, wanted)) << error;
  }

  void fillDiskAnywhere(Save how);

  const Program program = checkpointProgram(3, 3, DataType::F32);
  TemporaryFolder folder;
  const std::string root = folder.file("run");
  const std::string shard =
      root + "/update-0000000022/rank-00001-of-00003.safetensors";
};

} // namespace

TEST_F(CheckpointFault, DamagedFilesAreNamedOnAllRanks) {
  const std::string content = readText(shard);
  std::string changed = content;
  changed[content.size() - 5] ^= 16;
  std::ofstream(shard, std::ios::binary) << changed;
  const std::string advice =
      ": the checkpoint is damaged; restore the file, or "
      "remove the folder '" +
      root + "/update-0000000022' to go on";
  expectError(program, shard + ": found the checksum ");
  expectError(program, advice);
  std::ofstream(shard, std::ios::binary) << content.substr(0, 700);
  expectError(program, shard + ": found 700 bytes, wanted " +
                           std::to_string(content.size()) + advice);
  std::filesystem::remove(shard);
  expectError(program,
              shard + ": cannot be opened: No such file or directory" + advice);
  // And what it says helps.
  std::filesystem::remove_all(root + "/update-0000000022");
  EXPECT_EQ(expectNewest(program, root), 1);
}

TEST_F(CheckpointFault, WhatIsNotCompleteIsPassedOver) {
  const std::string manifest = root + "/update-0000000022/manifest.json";
  const std::string text = readText(manifest);
  std::ofstream(manifest) << text.substr(0, text.size() / 2);
  std::vector<std::string> remarks;
  EXPECT_EQ(load(program, root, &remarks), noErrors(program));
  ASSERT_EQ(remarks.size(), 2u);
  EXPECT_TRUE(contains(remarks[0], "update-0000000022 is not complete and is "
                                   "passed over"))
      << remarks[0];
  EXPECT_TRUE(contains(remarks[1], "latest names update-0000000022, which is "
                                   "not there or not complete"))
      << remarks[1];
  EXPECT_EQ(expectNewest(program, root), 1);
  // It stands in nobody's way.
  EXPECT_EQ(saveRound(program, root, 2, 2), noErrors(program));
  EXPECT_EQ(expectNewest(program, root), 2);
  EXPECT_EQ(load(program, root, &remarks), noErrors(program));
  EXPECT_TRUE(remarks.empty());
}

/// What may be whole is not passed over: its updates would be lost.
TEST_F(CheckpointFault, WhatCannotBeReadHereIsNotPassedOver) {
  const std::string newest = root + "/update-0000000022";
  const std::string manifest = newest + "/manifest.json";
  const std::string text = readText(manifest);
  std::string later = text;
  later.replace(later.find("\"version\": 2"), 12, "\"version\": 3");
  std::ofstream(manifest) << later;
  expectError(program, newest + " cannot be read here (" + manifest +
                           ": cannot be read: its version is 3, and this "
                           "program reads version 2: go on with the "
                           "executable that wrote it, or start from weights "
                           "that zero-checkpoint of its version exports), and "
                           "is newer than " +
                           root +
                           "/update-0000000011: make it readable, or "
                           "move it away");
  std::filesystem::remove(manifest);
  std::filesystem::create_directory(manifest);
  expectError(program, manifest + ": found a folder, wanted a regular file");
  std::filesystem::remove(manifest);
  ASSERT_EQ(::mkfifo(manifest.c_str(), 0600), 0);
  expectError(program, manifest + ": found a pipe, wanted a regular file");
  std::filesystem::rename(newest, root + "/elsewhere");
  std::filesystem::create_symlink("/no/such/disk", newest);
  expectError(program, newest + " cannot be read here (");
  std::filesystem::remove(newest);
  EXPECT_EQ(expectNewest(program, root), 1);
}

/// Where there is something, a run does not start over.
TEST_F(CheckpointFault, SomethingIsNotNothing) {
  std::filesystem::remove_all(root + "/update-0000000011");
  const std::string manifest = root + "/update-0000000022/manifest.json";
  const std::string text = readText(manifest);
  std::ofstream(manifest) << "{";
  expectError(program, root + "/update-0000000022 is not complete (" +
                           manifest + ": cannot be read: ");
  expectError(program, "and there is no other checkpoint: restore it, remove "
                       "it to start again, or name another folder");
  std::filesystem::remove_all(root + "/update-0000000022");
  expectError(program, root + "/latest names 'update-0000000022', and there is "
                              "no checkpoint: restore it, or name another");
  std::ofstream(root + "/latest") << "";
  expectError(program, root + "/latest names '', and there is no checkpoint");
  std::filesystem::remove(root + "/latest");
  EXPECT_EQ(load(program, root), noErrors(program)); // now there is none
  std::filesystem::create_directory(root + "/update-0000000022.damaged");
  expectError(program, root + "/update-0000000022.damaged could not be read "
                              "when its update was saved again");
  std::ofstream(root + "/manifest.json") << text;
  expectError(program, root + " is a checkpoint itself: name the folder that "
                              "holds it");
}

TEST_F(CheckpointFault, APointerThatIsWrongIsSaid) {
  std::vector<std::string> remarks;
  for (const auto &[text, name] :
       {std::pair("update-0000000033\n", "update-0000000033"),
        std::pair("", "nothing"), std::pair("elsewhere", "elsewhere")}) {
    std::ofstream(root + "/latest") << text;
    EXPECT_EQ(load(program, root, &remarks), noErrors(program));
    ASSERT_EQ(remarks.size(), 1u);
    EXPECT_TRUE(contains(remarks[0], root + "/latest names " + name +
                                         ", which is not there"))
        << remarks[0];
  }
  std::filesystem::remove(root + "/latest");
  ASSERT_EQ(::mkfifo((root + "/latest").c_str(), 0600), 0);
  expectError(program, root + "/latest: found a pipe, wanted a regular file");
}

TEST_F(CheckpointFault, AFolderIsOfItsUpdate) {
  std::filesystem::rename(root + "/update-0000000022",
                          root + "/update-0000000044");
  std::vector<std::string> remarks;
  EXPECT_EQ(load(program, root, &remarks), noErrors(program));
  ASSERT_EQ(remarks.size(), 2u);
  EXPECT_TRUE(contains(remarks[0], "is of update 22, wanted that of its"))
      << remarks[0];
}

/// A run that goes on from an older one does not hide the newer one.
TEST_F(CheckpointFault, ThePointerNeverMovesBack) {
  ASSERT_EQ(saveRound(program, root, 4), noErrors(program));
  for (const std::string &error : saveRound(program, root, 3, 1))
    EXPECT_TRUE(contains(error, "update-0000000044: this checkpoint is newer "
                                "than update 33, which is to be saved"))
        << error;
  std::ofstream(root + "/update-0000000044/manifest.json") << "{";
  EXPECT_EQ(saveRound(program, root, 3), noErrors(program));
  EXPECT_EQ(readText(root + "/latest"), "update-0000000044\n");
  EXPECT_EQ(expectNewest(program, root), 3);
  EXPECT_EQ(saveRound(program, root, 5), noErrors(program));
  EXPECT_EQ(readText(root + "/latest"), "update-0000000055\n");
  std::filesystem::remove_all(root + "/update-0000000055");
  std::filesystem::remove_all(root + "/update-0000000044");
  EXPECT_EQ(saveRound(program, root, 4), noErrors(program));
  EXPECT_EQ(readText(root + "/latest"), "update-0000000044\n");
}

/// Whatever is wrong is found before a byte of the state is set.
TEST_F(CheckpointFault, ARefusedCheckpointLeavesTheState) {
  const auto expectUntouched = [&](const Program &target) {
    onRanks(target.training.ranks, [&](Communicator &communicator) {
      Arenas arenas(target);
      const int rank = communicator.rank();
      setRound(target, arenas, rank, 5);
      const auto before = bytesOf(target, arenas, rank);
      std::vector<std::string> remarks;
      const auto found = findNewest(root, communicator, remarks);
      EXPECT_THROW(loadCheckpoint(*found, target, arenas, communicator),
                   std::runtime_error);
      EXPECT_EQ(bytesOf(target, arenas, rank), before);
    });
  };
  Program other = program;
  other.parameters[3].name = "other";
  expectUntouched(other);
  const std::string content = readText(shard);
  std::string changed = content;
  changed.back() ^= 1;
  std::ofstream(shard, std::ios::binary) << changed;
  expectUntouched(program);
  std::ofstream(shard, std::ios::binary) << content;
  // The last value that is read.
  const Parameter &last = program.parameters.back();
  const auto errors = onRanks(3, [&](Communicator &communicator) {
    Arenas arenas(program);
    setRound(program, arenas, communicator.rank(), 3);
    setParameter(program, arenas, communicator.rank(), last,
                 [&](uint64_t element, uint64_t count, float *out) {
                   for (uint64_t i = 0; i < count; ++i)
                     out[i] = element + i == 35 ? -1e6f : 1;
                 });
    saveCheckpoint(root, program, arenas, communicator, positionOf(3),
                   startOf(3));
  });
  EXPECT_EQ(errors, noErrors(program));
  ASSERT_EQ(last.elements(), 36);
  expectUntouched(checkpointProgram(2, 2, DataType::F16));
}

TEST_F(CheckpointFault, OtherProgramsAreToldWhatIsDifferent) {
  Program other = program;
  other.parameters[0].name = "fc2.w";
  expectError(other, "\n  'fc2.w' is not in the checkpoint");
  expectError(other, "\n  'fc1.w' is no parameter of this program");
  other = program;
  other.parameters[0].shape = {11, 7};
  expectError(other, "\n  'fc1.w' has the shape [7, 11] in the checkpoint and "
                     "[11, 7] in this program");
  other = program;
  other.partitions[1].states[0].name = "momentum";
  expectError(other, "\n  'deep/er.w' is kept with exp_avg, sum, and this "
                     "program trains it with momentum, sum");
}

TEST_F(CheckpointFault, AnUpdateIsSavedOnce) {
  for (const std::string &error : saveRound(program, root, 2))
    EXPECT_TRUE(contains(error, "update-0000000022: this checkpoint exists"))
        << error;
  EXPECT_EQ(expectNewest(program, root), 2);
}

/// A disk that is full at any operation costs the new checkpoint only.
void CheckpointFault::fillDiskAnywhere(Save how) {
  for (int stopAt = 1;; ++stopAt) {
    bool failed = false;
    WatchedFileSystem files([&](int operation, const std::string &what,
                                const std::function<void()> &half) {
      if (operation != stopAt)
        return;
      failed = true;
      if (half)
        half();
      throw std::runtime_error(what + ": No space left on device");
    });
    const auto errors = saveRound(program, root, 3, 0, files, how);
    if (!failed) {
      EXPECT_EQ(errors, noErrors(program));
      break;
    }
    for (const std::string &error : errors)
      EXPECT_TRUE(contains(error, "No space left on device")) << error;
    const int newest = expectNewest(program, root);
    EXPECT_TRUE(newest == 2 || newest == 3) << newest;
    // Nothing is left that takes room.
    for (const std::string &name : FileSystem::disk().list(root))
      EXPECT_FALSE(contains(name, "update") && contains(name, ".partial"))
          << name << " after operation " << stopAt;
    std::filesystem::remove_all(root + "/update-0000000033");
  }
  EXPECT_EQ(expectNewest(program, root), 3);
}

TEST_F(CheckpointFault, AFullDiskLeavesTheOldOnes) {
  fillDiskAnywhere(Save::AtOnce);
}

TEST_F(CheckpointFault, AFullDiskLeavesTheOldOnesWhileTrainingGoesOn) {
  fillDiskAnywhere(Save::InBackground);
}

/// What --keep cannot remove is named, and the rest of it goes.
TEST_F(CheckpointFault, WhatCannotBeRemovedStays) {
  const std::string old = root + "/update-0000000011";
  std::filesystem::create_directory(old + "/notes");
  std::vector<std::string> remarks;
  for (const int round : {3, 4}) {
    for (const Save how : {Save::AtOnce, Save::InBackground}) {
      EXPECT_EQ(saveRound(program, root, 2 * round + int(how), 1,
                          FileSystem::disk(), how, &remarks),
                noErrors(program));
      ASSERT_EQ(remarks.size(), 1u);
      EXPECT_TRUE(contains(remarks[0], "an old checkpoint stays: " + old +
                                           ".removed/notes: cannot be removed"))
          << remarks[0];
    }
  }
  EXPECT_EQ(FileSystem::disk().list(root),
            (std::vector<std::string>{"latest", "update-0000000011.removed",
                                      "update-0000000099"}));
  EXPECT_EQ(FileSystem::disk().list(old + ".removed"),
            std::vector<std::string>{"notes"});
  std::filesystem::remove(old + ".removed/notes");
  EXPECT_EQ(saveRound(program, root, 10, 1, FileSystem::disk(), Save::AtOnce,
                      &remarks),
            noErrors(program));
  EXPECT_TRUE(remarks.empty());
  EXPECT_FALSE(std::filesystem::exists(old + ".removed"));
}

TEST_F(CheckpointFault, WhatCannotBeReadIsKeptUnderAnotherName) {
  const std::string name = root + "/update-0000000022";
  for (const std::string &kept : {".damaged", ".damaged-2"}) {
    std::ofstream(name + "/manifest.json") << "{";
    std::vector<std::string> remarks;
    EXPECT_EQ(saveRound(program, root, 2, 2, FileSystem::disk(), Save::AtOnce,
                        &remarks),
              noErrors(program));
    ASSERT_EQ(remarks.size(), 1u);
    EXPECT_TRUE(contains(remarks[0], name + " cannot be read ("));
    EXPECT_TRUE(contains(remarks[0], ") and is kept as " + name + kept));
    EXPECT_EQ(readText(name + kept + "/manifest.json"), "{");
    EXPECT_EQ(expectNewest(program, root), 2);
  }
  EXPECT_EQ(findCheckpoints(root).broken.size(), 0u);
}

/// Each rank of a cluster may have a folder of that name.
TEST_F(CheckpointFault, RanksSeeOneFolder) {
  std::filesystem::create_directory(folder.file("other"));
  const auto agree = [&](int stranger) {
    return onRanks(3, [&](Communicator &communicator) {
      agreeOnFolder(communicator.rank() == stranger ? folder.file("other")
                                                    : root,
                    communicator);
    });
  };
  const auto before = FileSystem::disk().list(root);
  EXPECT_EQ(agree(-1), noErrors(program));
  for (const std::string &error : agree(2))
    EXPECT_TRUE(contains(error, folder.file("other") +
                                    ": this rank does not see what rank 0 "
                                    "writes there"))
        << error;
  EXPECT_EQ(FileSystem::disk().list(root), before);
}

/// f16 has fewer values than what was trained in another precision.
TEST_F(CheckpointFault, ValuesThatTheTypeCannotHoldAreNamed) {
  const Program target = checkpointProgram(2, 2, DataType::F16);
  const auto save = [&](float value) {
    const auto errors = onRanks(3, [&](Communicator &communicator) {
      Arenas arenas(program);
      setRound(program, arenas, communicator.rank(), 3);
      setParameter(program, arenas, communicator.rank(), program.parameters[3],
                   [&](uint64_t element, uint64_t count, float *out) {
                     for (uint64_t i = 0; i < count; ++i)
                       out[i] = element + i == 41 ? value : 1;
                   });
      saveCheckpoint(root, program, arenas, communicator, positionOf(3),
                     startOf(3));
    });
    EXPECT_EQ(errors, noErrors(program));
  };
  save(65519); // is rounded to 65504
  EXPECT_EQ(load(target, root), noErrors(target));
  std::filesystem::remove_all(root + "/update-0000000033");
  save(-1e6f);
  expectError(target,
              root + "/update-0000000033: element 41 of 'deep/er.w' is -1e+06, "
                     "which is too large for f16, the type that this program "
                     "stores: its largest value is 65504");
}
