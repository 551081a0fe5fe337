#include "communicator/Sockets.h"

#include "communicator/Launcher.h"
#include "communicator/Mpi.h"
#include "communicator/ProcessCommunicator.h"
#include "communicator/SlurmStep.h"
#include "communicator/SocketWire.h"

#include <cstdlib>
#include <string>

using namespace zrt;
using namespace zrt::processes;

/// A variable that holds a number of at most `most`.
static int wantedNumber(const char *variable, long most) {
  const std::string text = textIn(variable);
  char *end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < 0 || value > most)
    throw CommunicationError(std::string(variable) + ": found '" + text +
                             "', wanted a number from 0 to " +
                             std::to_string(most));
  return int(value);
}

static SocketPlace placeIn(const SlurmStep &step) {
  constexpr long kMostPort = 65535;
  SocketPlace place;
  place.rank = step.rank;
  place.ranks = step.ranks;
  const std::string host = textIn("MASTER_ADDR");
  place.host = host.empty() ? step.host : host;
  place.port = step.port;
  if (!textIn("MASTER_PORT").empty())
    place.port = uint16_t(wantedNumber("MASTER_PORT", kMostPort));
  else
    place.advice = "; the port follows from the numbers of Slurm's job and "
                   "step: set MASTER_PORT to a free one";
  return place;
}

static SocketPlace findPlace() {
  if (!launchedWithAddress())
    return placeIn(*findSlurmStep());
  constexpr long kMostRanks = 1 << 20;
  SocketPlace place;
  place.ranks = wantedNumber("WORLD_SIZE", kMostRanks);
  place.rank = wantedNumber("RANK", kMostRanks);
  if (place.rank >= place.ranks)
    throw CommunicationError("RANK: found " + std::to_string(place.rank) +
                             ", wanted less than WORLD_SIZE, which is " +
                             std::to_string(place.ranks));
  place.host = textIn("MASTER_ADDR");
  // Where torchrun's agent keeps what its workers share, it listens there.
  const bool isTaken = textIn("TORCHELASTIC_USE_AGENT_STORE") == "True";
  place.port = uint16_t(wantedNumber("MASTER_PORT", 65534) + (isTaken ? 1 : 0));
  return place;
}

bool zrt::launchedWithAddress() {
  for (const char *name : {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    if (textIn(name).empty())
      return false;
  // One process is a run of threads.
  return textIn("WORLD_SIZE") != "1";
}

bool zrt::launchedBySlurmAlone() {
  if (launchedWithAddress() || !findSlurmStep())
    return false;
  return !launchedUnderMpi() || !isMpiThere();
}

uint16_t zrt::findFreePort() { return Socket::listen(0, 1).port(); }

std::unique_ptr<Communicator>
zrt::makeSockets(const CommunicatorOptions &options) {
  return makeWorld(socketJob(findPlace(), options), options);
}
