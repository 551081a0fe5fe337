// What is usual, who is alone with a value, and states of ranks that differ.
#include "../state/StateTesting.h"
#include "selfcheck/Replicas.h"
#include "selfcheck/Usual.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace zrt;
using namespace zrt::testing;

TEST(Usual, NothingIsFarOffBeforeThereAreValues) {
  Usual usual;
  for (int i = 0; i < Usual::kFirst; ++i) {
    EXPECT_FALSE(usual.isFarOff(i % 2 ? 1e9 : 0));
    usual.add(4);
  }
  EXPECT_TRUE(usual.isFarOff(1e9));
}

TEST(Usual, FollowsALossThatFalls) {
  Usual usual;
  for (int i = 0; i < 1000; ++i) {
    const double loss = 10 * std::exp(-i / 200.0) + 0.1 * std::sin(i);
    EXPECT_FALSE(usual.isFarOff(loss)) << i;
    usual.add(loss);
  }
  EXPECT_TRUE(usual.isFarOff(8));
  EXPECT_TRUE(usual.isFarOff(-8));
}

TEST(Usual, WhatIsNotFiniteIsFarOffAndForgotten) {
  Usual usual;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(usual.isFarOff(nan));
  usual.add(nan);
  usual.add(2);
  EXPECT_EQ(usual.mean(), 2);
}

TEST(Replicas, TheMostCommonValueComesFirst) {
  const auto groups = groupByValue({0, 1, 2, 5}, {"7", "3", "7", "7"});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0], (std::vector<int>{0, 2, 5}));
  EXPECT_EQ(groups[1], (std::vector<int>{1}));
}

namespace {

/// What ranks say of states that were equal, and are changed on rank 1.
std::vector<std::string> compareAfter(const Program &program, bool isChanged) {
  std::vector<std::string> errors(size_t(program.training.ranks));
  onRanks(program.training.ranks, [&](Communicator &communicator) {
    const int rank = communicator.rank();
    Arenas arenas(program);
    const std::vector<KeptState> states = keptStates(program);
    StateHashes before;
    for (const KeptState &state : states)
      before.push_back(hashBlocks(state, arenas, rank));
    if (isChanged && rank == 1) {
      const KeptState &first = states.front();
      static_cast<char *>(arenas.resolve(first.buffer, rank))[5] ^= 1;
    }
    StateHashes hashes;
    for (const KeptState &state : states)
      hashes.push_back(hashBlocks(state, arenas, rank));
    EXPECT_EQ(findChanged(program, states, before, hashes, rank).empty(),
              !isChanged || rank != 1);
    try {
      compareReplicas(program, states, hashes, arenas, communicator, "!");
    } catch (const std::runtime_error &error) {
      errors[size_t(rank)] = error.what();
    }
  });
  return errors;
}

Program programOf(int stage) {
  ProgramBuilder builder(stage, 3, DataType::F32);
  builder.add(true, {parameter("w", {3, 40}, {InitKind::Zeros, 0, 0})});
  return builder.program;
}

} // namespace

TEST(Replicas, RanksWithTheSameStateAreCompared) {
  for (const std::string &error : compareAfter(programOf(0), false))
    EXPECT_EQ(error, "");
  for (const std::string &error : compareAfter(programOf(0), true))
    EXPECT_NE(error.find("parameter 'w[0, 1]' is 3.58732407e-43 on rank 1, and "
                         "0 on ranks 0, 2, which ought to have the same!"),
              std::string::npos)
        << error;
}

TEST(Replicas, SlicesOfRanksAreTheirOwn) {
  for (const std::string &error : compareAfter(programOf(3), true))
    EXPECT_EQ(error, "");
}
