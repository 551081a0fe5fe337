#include "communicator/Processes.h"

#include "communicator/Launcher.h"
#include "communicator/Mpi.h"
#include "communicator/SlurmStep.h"
#include "communicator/Sockets.h"

#include <initializer_list>

using namespace zrt;

bool zrt::areRanksProcesses() {
  return launchedWithAddress() || launchedBySlurmAlone() || launchedUnderMpi();
}

std::unique_ptr<Communicator>
zrt::makeProcesses(const CommunicatorOptions &options) {
  return launchedWithAddress() || launchedBySlurmAlone() ? makeSockets(options)
                                                         : makeMpi(options);
}

/// The first of the variables that holds a number of at least `least`.
static int firstNumber(std::initializer_list<const char *> names, int least,
                       int otherwise) {
  for (const char *name : names)
    if (const long number = numberIn(name, -1); number >= least)
      return int(number);
  return otherwise;
}

int zrt::localRank(int otherwise) {
  if (launchedWithAddress())
    return firstNumber({"LOCAL_RANK"}, 0, otherwise);
  // Slurm's own last: a launcher of MPI may itself be a step.
  const auto step = findSlurmStep();
  return firstNumber(
      {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK"}, 0,
      step ? step->localRank : otherwise);
}

int zrt::countLocalRanks() {
  if (launchedWithAddress())
    return firstNumber({"LOCAL_WORLD_SIZE"}, 1, 0);
  const auto step = findSlurmStep();
  return firstNumber(
      {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE"}, 1,
      step ? step->localRanks : 0);
}
