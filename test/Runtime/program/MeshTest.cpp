// Groups of a mesh of ranks.
#include "program/Program.h"

#include <gtest/gtest.h>

#include <set>

using namespace zrt;

namespace {

/// Ranks 0 to 23 as 2 x 3 x 4, with every set of axes as a group.
Mesh cube() {
  return {{{"a", 2}, {"b", 3}, {"c", 4}},
          {{{0, 1, 2}}, {{0}}, {{1}}, {{2}}, {{0, 1}}, {{0, 2}}, {{1, 2}}, {}}};
}

TEST(Mesh, RanksAreRowMajor) {
  const Mesh mesh = cube();
  EXPECT_EQ(mesh.ranks(), 24);
  // Rank 17 is at (1, 1, 1).
  EXPECT_EQ(mesh.indexIn(0, 17), 17);
  EXPECT_EQ(mesh.indexIn(1, 17), 1);
  EXPECT_EQ(mesh.indexIn(4, 17), 4);
  EXPECT_EQ(mesh.indexIn(5, 17), 5);
  EXPECT_EQ(mesh.numberOf(5, 17), 1);
  EXPECT_EQ(mesh.numberOf(3, 17), 4);
}

/// The groups of a set of axes share no rank, have one size, and each place in
/// a group once.
TEST(Mesh, GroupsPartitionTheRanks) {
  const Mesh mesh = cube();
  for (uint32_t group = 0; group < mesh.groups.size(); ++group) {
    std::set<std::pair<int64_t, int64_t>> places;
    for (int64_t rank = 0; rank < 24; ++rank) {
      EXPECT_LT(mesh.indexIn(group, rank), mesh.sizeOf(group, 24));
      EXPECT_LT(mesh.numberOf(group, rank), 24 / mesh.sizeOf(group, 24));
      places.insert({mesh.numberOf(group, rank), mesh.indexIn(group, rank)});
    }
    EXPECT_EQ(places.size(), 24u) << mesh.nameOf(group);
  }
}

TEST(Mesh, WithoutAxesRanksAreOneLine) {
  Program program;
  program.training.ranks = 5;
  EXPECT_EQ(program.ranksOf(kAllRanks), 5);
  EXPECT_EQ(program.mesh.indexIn(kAllRanks, 3), 3);
  EXPECT_EQ(program.mesh.numberOf(kAllRanks, 3), 0);
  EXPECT_EQ(program.mesh.nameOf(kAllRanks), "all ranks");
}

TEST(Mesh, NamesItsGroups) {
  EXPECT_EQ(cube().nameOf(5), "a x c");
  EXPECT_EQ(cube().text(), "a=2,b=3,c=4");
}

TEST(Mesh, SaysWhatIsWrong) {
  const auto invalid = [](void (*change)(Mesh &)) {
    Mesh mesh = cube();
    change(mesh);
    return mesh.findInvalid(24);
  };
  EXPECT_EQ(invalid([](Mesh &) {}), "");
  EXPECT_EQ(invalid([](Mesh &mesh) { mesh.axes[1].size = 0; }),
            "axis 'b' of the mesh has 0 ranks, wanted at least 1");
  EXPECT_EQ(invalid([](Mesh &mesh) { mesh.axes[1].name = "a"; }),
            "the mesh has two axes 'a'");
  EXPECT_EQ(invalid([](Mesh &mesh) { mesh.axes[1].size = 5; }),
            "the mesh a=2,b=5,c=4 has 40 ranks, and the program 24");
  EXPECT_EQ(invalid([](Mesh &mesh) { mesh.groups[0].axes.pop_back(); }),
            "the first group of the mesh does not have all axes");
  EXPECT_EQ(invalid([](Mesh &mesh) { mesh.groups[4].axes = {1, 0}; }),
            "a group of the mesh does not name its axes in rising order");
  EXPECT_EQ(invalid([](Mesh &mesh) { mesh.groups[1].axes = {3}; }),
            "a group of the mesh does not name its axes in rising order");
}

/// Programs that differ only in the group of an operation do not run together.
TEST(Mesh, GroupsAreInTheHash) {
  Program program;
  program.training.ranks = 4;
  program.mesh = {{{"replica", 2}, {"shard", 2}}, {{{0, 1}}, {{0}}, {{1}}}};
  Command start;
  start.opcode = Opcode::Start;
  start.collective = Collective::AllReduce;
  start.parts.resize(1);
  program.apply.commands = {start};
  std::set<uint64_t> hashes;
  for (uint32_t group = 0; group < 3; ++group) {
    program.apply.commands[0].group = group;
    hashes.insert(collectiveHash(program));
  }
  std::swap(program.mesh.groups[1], program.mesh.groups[2]);
  hashes.insert(collectiveHash(program));
  EXPECT_EQ(hashes.size(), 4u);
}

TEST(Mesh, AnUnknownGroupIsNoProgram) {
  Program program, back;
  program.training.ranks = 4;
  program.mesh = {{{"replica", 2}, {"shard", 2}}, {{{0, 1}}, {{1}}}};
  program.partitions.resize(1);
  program.partitions[0].name = "p0";
  program.partitions[0].group = 2;
  const std::string bytes = serialize(program);
  std::string error;
  EXPECT_FALSE(parse(bytes.data(), bytes.size(), back, error));
  EXPECT_EQ(error, "program: partition p0 names entry 2 of groups, which has 2 "
                   "entries");
}

} // namespace
