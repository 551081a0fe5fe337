// Processes that a launcher has started, and that do not find each other.
#include "TrainerTesting.h"

#include "communicator/Launcher.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

using namespace zrt;
using namespace zrt::test;

namespace {

using Variables = std::map<std::string, std::string>;

/// The environment with these variables and no other one of a launcher.
class Environment {
public:
  explicit Environment(const Variables &variables) {
    for (const char *name : {"OMPI_COMM_WORLD_RANK",
                             "OMPI_COMM_WORLD_SIZE",
                             "PMI_RANK",
                             "PMI_SIZE",
                             "PMIX_RANK",
                             "PMIX_SIZE",
                             "MV2_COMM_WORLD_RANK",
                             "MV2_COMM_WORLD_SIZE",
                             "JSM_NAMESPACE_RANK",
                             "JSM_NAMESPACE_SIZE",
                             "FLUX_TASK_RANK",
                             "FLUX_JOB_SIZE",
                             "SLURM_PROCID",
                             "SLURM_STEP_NUM_TASKS",
                             "SLURM_NTASKS",
                             "HOROVOD_RANK",
                             "HOROVOD_SIZE",
                             "RANK",
                             "WORLD_SIZE",
                             "LOCAL_RANK",
                             "LOCAL_WORLD_SIZE"})
      set(name, nullptr);
    for (const auto &[name, value] : variables)
      set(name, value.c_str());
  }
  ~Environment() {
    for (const auto &[name, value] : before)
      value.empty() ? ::unsetenv(name.c_str())
                    : ::setenv(name.c_str(), value.c_str(), 1);
  }

private:
  void set(const std::string &name, const char *value) {
    const char *old = std::getenv(name.c_str());
    before.emplace(name, old ? old : "");
    value ? ::setenv(name.c_str(), value, 1) : ::unsetenv(name.c_str());
  }

  Variables before;
};

std::string launchOf(const Variables &variables) {
  const Environment environment(variables);
  const Launch launch = findLaunch();
  return launch.processes > 1 ? describe(launch) : "";
}

TEST(Launcher, IsFoundByItsVariables) {
  EXPECT_EQ(launchOf({}), "");
  EXPECT_EQ(launchOf({{"RANK", "1"}, {"WORLD_SIZE", "2"}}),
            "process 1 of 2 by torchrun or the like (RANK and WORLD_SIZE)");
  EXPECT_EQ(launchOf({{"RANK", "0"}, {"WORLD_SIZE", "2"}}),
            "process 0 of 2 by torchrun or the like (RANK and WORLD_SIZE)");
  EXPECT_EQ(launchOf({{"LOCAL_RANK", "1"}}),
            "process 1 of 2 by torchrun or the like (LOCAL_RANK and "
            "LOCAL_WORLD_SIZE)");
  EXPECT_EQ(launchOf({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}),
            "process 0 of 8 by Slurm (SLURM_PROCID and SLURM_NTASKS)");
  EXPECT_EQ(launchOf({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}}),
            "process 3 of 4 by a launcher of MPI (PMI_RANK and PMI_SIZE)");
}

/// A single process is none of several, and other programs have such names,
/// too.
TEST(Launcher, OneProcessIsNotLaunched) {
  EXPECT_EQ(launchOf({{"RANK", "0"}, {"WORLD_SIZE", "1"}}), "");
  EXPECT_EQ(launchOf({{"WORLD_SIZE", "8"}}), "");
  EXPECT_EQ(launchOf({{"RANK", "captain"}, {"WORLD_SIZE", "8"}}), "");
  EXPECT_EQ(launchOf({{"RANK", ""}, {"WORLD_SIZE", "8"}}), "");
  EXPECT_EQ(launchOf({{"SLURM_NTASKS", "8"}}), "");
}

TEST(Launcher, SeveralTrainingsAreRefused) {
  const TemporaryFile text{".txt", someText()};
  const Environment environment({{"RANK", "1"}, {"WORLD_SIZE", "2"}});
  const Outcome outcome =
      runWith(makeFakeProgram(2, 1), {"--data", text.path(), "--steps", "2"});
  EXPECT_EQ(outcome.code, 2);
  for (const char *wanted :
       {"error: started as process 1 of 2 by torchrun or the like",
        "mpirun -n 2", "unset RANK and WORLD_SIZE"})
    EXPECT_NE(outcome.errors.find(wanted), std::string::npos) << outcome.errors;
}

} // namespace
