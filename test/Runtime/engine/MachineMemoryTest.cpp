// What a machine leaves of memory, from files of the test's own.
#include "../../Sanitized.h"
#include "../TemporaryFile.h"
#include "FakeProgram.h"

#include "engine/HostBackend.h"
#include "engine/MachineMemory.h"
#include "trainer/TrainerMain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/resource.h>

using namespace zrt;
using namespace zrt::test;

namespace {

/// A root of the file system.
class MachineMemory : public ::testing::Test {
protected:
  MachineMemory() {
    char name[] = "/tmp/zero-test-XXXXXX";
    root = ::mkdtemp(name);
  }
  ~MachineMemory() override { std::filesystem::remove_all(root); }

  void write(const std::string &path, const std::string &text) {
    const std::filesystem::path file = root + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  /// What the machine and its groups leave; this process has limits too.
  std::vector<std::string> left() {
    std::vector<std::string> found;
    for (const MemoryLimit &limit : memoryLimits(root))
      if (!limit.ofProcess)
        found.push_back(limit.source + " " + std::to_string(limit.left));
    return found;
  }

  using Texts = std::vector<std::string>;
  std::string root;
};

TEST_F(MachineMemory, WhatIsNotToldIsNoLimit) {
  EXPECT_EQ(left(), Texts{});
  write("/proc/meminfo", "MemTotal: 4 kB\nMemAvailable:       3 kB\n");
  EXPECT_EQ(left(), Texts{"this machine 3072"});
}

/// What is cached of files does not count, nor does a group without a limit.
TEST_F(MachineMemory, GroupsOfVersion2AndThoseTheyAreIn) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/memory.max", "1000\n");
  write("/sys/fs/cgroup/a/memory.current", "700\n");
  write("/sys/fs/cgroup/a/memory.stat",
        "anon 1\ninactive_file 200\nactive_file 100\n");
  write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  write("/sys/fs/cgroup/a/b/memory.current", "700\n");
  EXPECT_EQ(left(), Texts{"the control group '/a' 600"});
  write("/sys/fs/cgroup/a/b/memory.max", "600\n");
  EXPECT_EQ(left(), (Texts{"the control group '/a/b' 0",
                           "the control group '/a' 600"}));
}

/// In a container the path may be of the machine, and the mount is the group.
TEST_F(MachineMemory, GroupsOfVersion1) {
  write("/proc/self/cgroup", "9:name=systemd:/x\n4:cpu,memory:/box/1\n0::/\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "4000\n");
  write("/sys/fs/cgroup/memory/memory.stat",
        "inactive_file 7\ntotal_inactive_file 500\ntotal_active_file 0\n");
  EXPECT_EQ(left(), Texts{"the control group '/' 1500"});
}

TEST_F(MachineMemory, TheProcessHasLimitsToo) {
  write("/proc/self/statm", "100 5 5 5 0 60 0\n");
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_DATA, &before), 0);
  rlimit limit = before;
  limit.rlim_cur = uint64_t(1) << 40;
  ASSERT_EQ(::setrlimit(RLIMIT_DATA, &limit), 0);
  const std::vector<MemoryLimit> found = memoryLimits(root);
  ::setrlimit(RLIMIT_DATA, &before);
  const auto data =
      std::find_if(found.begin(), found.end(), [](const MemoryLimit &own) {
        return own.source == "the limit of data (ulimit -d)";
      });
  ASSERT_NE(data, found.end());
  EXPECT_TRUE(data->ofProcess);
  EXPECT_EQ(data->left, (uint64_t(1) << 40) - 60 * 4096);
}

/// All ranks that share something count, and the tightest limit is named.
TEST_F(MachineMemory, RanksShareIt) {
  const std::vector<MemoryLimit> limits = {{4000, false, "this machine"},
                                           {1500, true, "the limit"}};
  EXPECT_EQ(lackOfMemory(1000, {1, 4}, limits), "");
  EXPECT_EQ(lackOfMemory(1001, {1, 4}, limits),
            "4 ranks of this machine would need 1001 B each, and this machine "
            "leaves 3.91 KiB; compile the model to need less, for more ranks "
            "or at a higher stage, or start all the same with --overcommit");
  EXPECT_EQ(lackOfMemory(1501, {1, 2}, limits)
                .find("1 rank of this process would need 1.47 KiB, and the "
                      "limit leaves 1.46 KiB; "),
            0u);
  EXPECT_EQ(lackOfMemory(1000, {2, 2}, limits)
                .find("2 ranks of this process would need 1000 B each, and the "
                      "limit leaves"),
            0u);
}

/// Before anything is taken; the fake kernels use little of what is planned.
TEST_F(MachineMemory, AProgramBeyondTheMachineIsRefused) {
  Program program = makeFakeProgram(2, 1);
  program.arenaBytes[int(Arena::Activations)] = uint64_t(1) << 43;
  const FakeKernels kernels = makeFakeKernels();
  const TemporaryFile text(".txt", std::string(1000, 'x'));
  std::string words[] = {"train",   "--data", text.path(),
                         "--steps", "1",      "--overcommit"};
  const auto run = [&](int count, std::ostream &out, std::ostream &errors) {
    char *arguments[6];
    for (int i = 0; i < count; ++i)
      arguments[i] = words[i].data();
    return runTrainer(count, arguments, program, {},
                      hostBackends(kernels.maker()), out, errors);
  };
  std::ostringstream out, errors;
  EXPECT_EQ(run(5, out, errors), 1);
  EXPECT_EQ(out.str(), "");
  EXPECT_EQ(errors.str().find("error: 2 ranks of this "), 0u) << errors.str();
  EXPECT_NE(errors.str().find(" would need 8.00 TiB each, and "),
            std::string::npos);
  if (kIsSanitized)
    return; // whose own mappings leave no 8 TiB of addresses
  std::ostringstream noErrors;
  EXPECT_EQ(run(6, out, noErrors), 0) << noErrors.str();
}

/// What the kernels compute in counts, whichever of them needs most; `--memory`
/// has it.
TEST_F(MachineMemory, TheKernelsWorkspaceCounts) {
  struct Wide : Kernel {
    size_t workspaceBytes() const override { return size_t(1) << 43; }
    void run(void *const *, void *) override {}
  };
  const Program program = makeFakeProgram(2, 1);
  const FakeKernels kernels = makeFakeKernels();
  const KernelMaker maker =
      [&](const KernelSpec &spec,
          const KernelContext &context) -> std::unique_ptr<Kernel> {
    if (spec.name == "test.update")
      return std::make_unique<Wide>();
    return kernels.maker()(spec, context);
  };
  EmbeddedProgram embedded;
  embedded.measureWorkspace = hostWorkspaces(maker);
  const TemporaryFile text(".txt", std::string(1000, 'x'));
  const auto run = [&](std::vector<std::string> words, std::ostream &out,
                       std::ostream &errors) {
    std::vector<char *> arguments;
    for (std::string &word : words)
      arguments.push_back(word.data());
    return runTrainer(int(arguments.size()), arguments.data(), {program},
                      embedded, hostBackends(maker), out, errors);
  };
  std::ostringstream out, errors, memory;
  EXPECT_EQ(run({"train", "--data", text.path(), "--steps", "1"}, out, errors),
            1);
  EXPECT_NE(errors.str().find(" would need 8.00 TiB each, and "),
            std::string::npos)
      << errors.str();
  EXPECT_EQ(run({"train", "--memory"}, memory, errors), 0);
  EXPECT_NE(memory.str().find("the kernels' workspace: 8.00 TiB"),
            std::string::npos)
      << memory.str();
}

TEST_F(MachineMemory, ADeviceHasItsOwn) {
  Program program = makeFakeProgram(1, 1);
  std::fill(std::begin(program.arenaBytes), std::end(program.arenaBytes), 0);
  program.arenaBytes[spaceOf(Arena::Parameters, Tier::Device)] = 5;
  program.arenaBytes[spaceOf(Arena::Optimizer, Tier::Host)] = 7;
  EXPECT_EQ(hostBytesOf(program, false), 12u);
  EXPECT_EQ(hostBytesOf(program, true), 7u);
}

/// What a full disk does not take is asked for as a whole, beside the arenas
/// in memory, however little of it the disk refuses first.
TEST_F(MachineMemory, AllThatWouldBeInFiles) {
  Program program = makeFakeProgram(1, 1);
  BackendOptions options;
  const auto lackWith = [&](uint64_t bytes) {
    program.arenaBytes[spaceOf(Arena::Optimizer, Tier::File)] = bytes;
    return roomBesideArenas({program, options}, /*isForDevice=*/false, 1)();
  };
  EXPECT_EQ(lackWith(uint64_t(1) << 20), "");
  EXPECT_NE(lackWith(uint64_t(1) << 43).find("would need 8.00 TiB"),
            std::string::npos);
  options.overcommit = true;
  EXPECT_EQ(lackWith(uint64_t(1) << 43), "");
}

} // namespace
