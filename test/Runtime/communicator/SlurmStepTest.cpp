#include "communicator/SlurmStep.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

using namespace zrt;

TEST(SlurmStep, TakesTheFirstHostOfAList) {
  EXPECT_EQ(firstHostOf("localhost"), "localhost");
  EXPECT_EQ(firstHostOf("gpu5,gpu7"), "gpu5");
  EXPECT_EQ(firstHostOf("n[01-03,7],gpu5"), "n01");
  EXPECT_EQ(firstHostOf("n[12,15]"), "n12");
  EXPECT_EQ(firstHostOf("rack[2-3]-n[08-15].site"), "rack2-n08.site");
  EXPECT_EQ(firstHostOf("n[1"), "n1");
  EXPECT_EQ(firstHostOf(""), "");
}

TEST(SlurmStep, CountsTasksOfAMachine) {
  const char *list = "4(x2),3,2(x3)";
  const int wanted[] = {4, 4, 3, 2, 2, 2, 0};
  for (int machine = 0; machine < 7; ++machine)
    EXPECT_EQ(countAt(list, machine), wanted[machine]) << machine;
  EXPECT_EQ(countAt("8", 0), 8);
  EXPECT_EQ(countAt("", 0), 0);
}

TEST(SlurmStep, IsFoundByItsVariables) {
  std::map<std::string, std::string> variables = {
      {"SLURM_PROCID", "5"},
      {"SLURM_STEP_NUM_TASKS", "8"},
      {"SLURM_STEP_NODELIST", "n[3-4]"},
      {"SLURM_LOCALID", "1"},
      {"SLURM_NODEID", "1"},
      {"SLURM_STEP_TASKS_PER_NODE", "4(x2)"},
      {"SLURM_JOB_ID", "123456"},
      {"SLURM_STEP_ID", "2"}};
  for (const auto &[name, value] : variables)
    ::setenv(name.c_str(), value.c_str(), 1);
  const auto step = findSlurmStep();
  ASSERT_TRUE(step);
  EXPECT_EQ(step->rank, 5);
  EXPECT_EQ(step->ranks, 8);
  EXPECT_EQ(step->localRank, 1);
  EXPECT_EQ(step->localRanks, 4);
  EXPECT_EQ(step->host, "n3");
  ::setenv("SLURM_STEP_ID", "3", 1);
  EXPECT_NE(findSlurmStep()->port, step->port);
  EXPECT_GE(step->port, 20000);
  EXPECT_LT(step->port, 30000);
  // A shell of an allocation has no step, and a step of one task no others.
  for (const char *absent : {"SLURM_STEP_NUM_TASKS", "SLURM_STEP_NODELIST"}) {
    ::unsetenv(absent);
    EXPECT_FALSE(findSlurmStep()) << absent;
    ::setenv(absent, variables[absent].c_str(), 1);
  }
  ::setenv("SLURM_STEP_NUM_TASKS", "1", 1);
  EXPECT_FALSE(findSlurmStep());
  for (const auto &[name, value] : variables)
    ::unsetenv(name.c_str());
}
