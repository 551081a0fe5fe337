// Cores that a process may use, where control groups limit their time.
#include "program/Cores.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

using namespace zrt;

namespace {

/// A folder as control groups are mounted.
class Mount {
public:
  Mount() {
    std::string name = testing::TempDir() + "cores-XXXXXX";
    root = ::mkdtemp(name.data());
  }
  ~Mount() { std::filesystem::remove_all(root); }

  void write(const std::string &path, const std::string &text) const {
    const std::filesystem::path file = root + "/" + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  double quotaOf(const std::string &groups) const {
    return coresOfQuota(groups, root);
  }

private:
  std::string root;
};

TEST(Cores, WithoutAQuotaThereIsNoLimit) {
  Mount mount;
  EXPECT_TRUE(std::isinf(mount.quotaOf("0::/\n")));
  EXPECT_TRUE(std::isinf(mount.quotaOf("")));
  EXPECT_TRUE(std::isinf(mount.quotaOf("what is this?\n\n:::\n")));
  mount.write("cpu.max", "max 100000\n");
  EXPECT_TRUE(std::isinf(mount.quotaOf("0::/\n")));
  mount.write("cpu.max", "words\n");
  EXPECT_TRUE(std::isinf(mount.quotaOf("0::/\n")));
  EXPECT_GE(coresOfProcess(), 1);
}

TEST(Cores, TheLeastOfTheGroupsAroundCounts) {
  Mount mount;
  mount.write("pods/cpu.max", "250000 100000\n");
  mount.write("pods/one/cpu.max", "max 100000\n");
  mount.write("pods/two/cpu.max", "50000 100000\n");
  EXPECT_EQ(mount.quotaOf("0::/pods/one\n"), 2.5);
  EXPECT_EQ(mount.quotaOf("0::/pods/two\n"), 0.5);
  EXPECT_TRUE(std::isinf(mount.quotaOf("0::/other\n")));
}

TEST(Cores, AContainerSeesNoFolderOfItsPathOutside) {
  Mount mount;
  mount.write("cpu.max", "300000 100000\n");
  EXPECT_EQ(mount.quotaOf("0::/docker/0123\n"), 3);
}

TEST(Cores, ControllersMayHaveHierarchiesOfTheirOwn) {
  Mount mount;
  const std::string groups = "5:cpuset:/a\n4:cpu,cpuacct:/a/b\n0::/\n";
  mount.write("cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
  mount.write("cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
  EXPECT_TRUE(std::isinf(mount.quotaOf(groups)));
  mount.write("cpu/a/cpu.cfs_quota_us", "400000\n");
  mount.write("cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(mount.quotaOf(groups), 4);
  mount.write("cpu,cpuacct/a/b/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(mount.quotaOf(groups), 1.5);
}

} // namespace
