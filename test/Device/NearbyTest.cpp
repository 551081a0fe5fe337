// Where a device is on a machine, by a folder like the kernel's, and threads
// that stay there.
#include "device/Nearby.h"

#include "gtest/gtest.h"

#include <filesystem>
#include <fstream>
#include <sched.h>
#include <thread>
#include <unistd.h>

using namespace zrt;

namespace {

TEST(Nearby, ReadsListsOfCores) {
  EXPECT_EQ(coresOfList("3"), (std::vector<int>{3}));
  EXPECT_EQ(coresOfList("0-2,8,10-11"), (std::vector<int>{0, 1, 2, 8, 10, 11}));
  for (const char *text : {"", "x", "1-", "-1", "2-1", "1;2", "0-99999999999",
                           "0-9999999", "1,,2", "1 2"})
    EXPECT_TRUE(coresOfList(text).empty()) << text;
}

TEST(Nearby, FindsADevice) {
  namespace fs = std::filesystem;
  const fs::path root =
      fs::path(testing::TempDir()) / ("nearby-" + std::to_string(::getpid()));
  fs::create_directories(root / "0000:5d:00.0");
  std::ofstream(root / "0000:5d:00.0/local_cpulist") << "0-1,4\n";
  std::ofstream(root / "0000:5d:00.0/numa_node") << "1\n";
  const Nearby nearby = findNearby(root, "0000:5D:00.0");
  EXPECT_EQ(nearby.cpuText, "0-1,4");
  EXPECT_EQ(nearby.cpus, (std::vector<int>{0, 1, 4}));
  EXPECT_EQ(nearby.node, 1);
  const Nearby absent = findNearby(root, "0000:00:00.0");
  EXPECT_TRUE(absent.cpus.empty());
  EXPECT_LT(absent.node, 0);
  fs::remove_all(root);
}

/// The cores that this thread may run on.
std::vector<int> ownCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof(set), &set), 0);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set))
      cores.push_back(core);
  return cores;
}

TEST(Nearby, ThreadsStay) {
  const std::vector<int> before = ownCores();
  const int last = before.back();
  std::string said;
  std::vector<int> child;
  std::thread([&] {
    said = stayNear({std::to_string(last), {last}, -1});
    std::thread([&] { child = ownCores(); }).join();
  }).join();
  EXPECT_EQ(said, "cores " + std::to_string(last));
  EXPECT_EQ(child, std::vector<int>{last});
  EXPECT_EQ(ownCores(), before) << "others stay where they are";
}

/// A container may refuse it; either is said.
TEST(Nearby, MemoryIsTakenThere) {
  std::string said;
  std::thread([&] {
    const int last = ownCores().back();
    said = stayNear({std::to_string(last), {last}, 0});
  }).join();
  EXPECT_TRUE(said.find(", memory of node 0") != std::string::npos ||
              said.find(", but not the memory of node 0: ") !=
                  std::string::npos)
      << said;
}

TEST(Nearby, SaysWhyNot) {
  EXPECT_EQ(stayNear({}), "the machine does not say which cores are near");
  const std::vector<int> before = ownCores();
  const std::string said = stayNear({"1023", {1023}, -1});
  EXPECT_EQ(said.find("it may not run on the cores that are near, 1023: "), 0u)
      << said;
  EXPECT_EQ(ownCores(), before);
}

} // namespace
