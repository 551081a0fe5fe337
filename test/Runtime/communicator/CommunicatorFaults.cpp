// A rank of a job in which something goes wrong; CommunicatorProcessTest starts
// it, by mpirun and with sockets, and reads what the ranks print.
#include "communicator/Processes.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

using namespace zrt;

namespace {

void mismatch(Communicator &world) {
  std::vector<float> buffer(100);
  world.barrier();
  world.run(Collective::AllReduce, Reduction::Sum,
            {{buffer.data(), buffer.data(), world.rank() == 1 ? 90u : 100u,
              DataType::F32, 0}});
}

void waitFor(const std::string &file) {
  while (!std::ifstream(file))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Rank 0 waits for a message of rank 1; the others wait for `file`.
void receive(Communicator &world, const std::string &file) {
  float values[5] = {};
  Transfer part{values, values, 5, DataType::F32};
  part.root = 1 - world.rank();
  if (world.rank() != 0)
    waitFor(file);
  if (world.rank() < 2)
    world.run(world.rank() == 0 ? Collective::Receive : Collective::Send,
              Reduction::Sum, {part});
  world.barrier();
}

/// The message is sent when rank 0 has given up, and has made `file`.
void lateMessage(Communicator &world, const std::string &file) {
  try {
    receive(world, file);
  } catch (const CommunicationError &) {
    std::ofstream(file) << world.rank();
    throw;
  }
}

/// Rank 1 comes when another has given up, and has made `file`.
void late(Communicator &world, const std::string &file) {
  world.barrier();
  if (world.rank() == 1)
    waitFor(file);
  try {
    world.barrier();
  } catch (const CommunicationError &) {
    std::ofstream(file) << world.rank();
    throw;
  }
}

/// Rank 1 never comes back.
void hang(Communicator &world) {
  world.barrier();
  if (world.rank() == 1)
    std::this_thread::sleep_for(std::chrono::hours(24));
  world.barrier();
}

/// Rank 1 comes when another has said that it is late, by making `file`.
void slow(Communicator &world, const std::string &file) {
  world.barrier();
  if (world.rank() == 1)
    waitFor(file);
  world.barrier();
  std::printf("rank %d went on\n", world.rank());
}

void leave(Communicator &world) {
  world.barrier();
  if (world.rank() != 1)
    world.barrier();
}

/// Rank 1 ends without a word.
void die(Communicator &world) {
  world.barrier();
  if (world.rank() == 1)
    std::raise(SIGKILL);
  world.barrier();
}

void abortJob(Communicator &world) {
  world.barrier();
  if (world.rank() == 1)
    world.abort("the loss is not finite");
  world.barrier();
}

/// Rank 0 gets another message than it wants, and each rank says what it was
/// doing when that ended the job.
void abortWithPlace(Communicator &world) {
  float values[5] = {};
  try {
    Transfer part{values, values, world.rank() == 0 ? 5u : 4u, DataType::F32};
    part.root = world.rank() == 0 ? 1 : 0;
    if (world.rank() < 2)
      world.run(world.rank() == 0 ? Collective::Receive : Collective::Send,
                Reduction::Sum, {part});
    world.barrier();
  } catch (const CommunicationError &error) {
    world.abort(std::string("in the forward pass: ") + error.what());
  }
}

/// Rank 2 refuses its own arguments.
void invalid(Communicator &world) {
  float value = 0;
  world.run(
      Collective::AllReduce, Reduction::Sum,
      {{&value, world.rank() == 2 ? nullptr : &value, 1, DataType::F32, 0}});
}

} // namespace

int main(int argc, char **argv) {
  const std::string fault = argc > 1 ? argv[1] : "";
  const bool waits =
      fault == "late" || fault == "hang" || fault == "late-message";
  const std::string file = argc > 2 ? argv[2] : "";
  CommunicatorOptions options;
  options.timeoutSeconds = waits ? 3 : 600;
  if (fault == "slow" || fault == "slow-message") {
    options.noticeSeconds = 0.2;
    options.notice = [&](const std::string &what) {
      std::printf("notice: %s\n", what.c_str());
      std::ofstream(file) << what;
    };
  }
  auto world = makeProcesses(options);
  try {
    if (fault == "mismatch")
      mismatch(*world);
    else if (fault == "late-message")
      lateMessage(*world, file);
    else if (fault == "slow-message")
      receive(*world, file);
    else if (waits)
      fault == "late" ? late(*world, file) : hang(*world);
    else if (fault == "slow")
      slow(*world, file);
    else if (fault == "leave")
      leave(*world);
    else if (fault == "die")
      die(*world);
    else if (fault == "abort")
      abortJob(*world);
    else if (fault == "abort-with-place")
      abortWithPlace(*world);
    else if (fault == "invalid")
      invalid(*world);
  } catch (const CommunicationError &error) {
    std::printf("rank %d caught: %s\n", world->rank(), error.what());
    std::fflush(stdout);
    return 3;
  }
  return 0;
}
