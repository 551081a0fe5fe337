#include "communicator/MpiWire.h"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdlib>
#include <thread>
#include <vector>

namespace zrt::processes {
namespace {

constexpr int kControlTag = 1;

/// Throws CommunicationError with MPI's text when `code` is an error.
void check(int code, const char *call) {
  if (code == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw CommunicationError(std::string("mpi communicator: ") + call + ": " +
                           text);
}

class MpiRequests final : public Requests {
public:
  explicit MpiRequests(MPI_Comm comm) : comm(comm) {}

  void send(const void *from, size_t bytes, int peer, int tag) override {
    check(MPI_Isend(from, int(bytes), MPI_BYTE, peer, tag, comm, add()),
          "MPI_Isend");
  }
  void receive(void *to, size_t bytes, int peer, int tag) override {
    check(MPI_Irecv(to, int(bytes), MPI_BYTE, peer, tag, comm, add()),
          "MPI_Irecv");
    areReceives.back() = true;
  }
  size_t active() const override { return activeCount; }
  bool isComplete(size_t index) const override {
    return requests[index] == MPI_REQUEST_NULL;
  }
  void clear() override {
    requests.clear();
    areReceives.clear();
  }
  bool poll() override;
  void cancel() override;

private:
  MPI_Request *add() {
    requests.push_back(MPI_REQUEST_NULL);
    areReceives.push_back(false);
    completed.resize(requests.size());
    statuses.resize(requests.size());
    ++activeCount;
    return &requests.back();
  }

  const MPI_Comm comm;
  std::vector<MPI_Request> requests;
  std::vector<bool> areReceives; ///< by request: it is one
  std::vector<int> completed;
  std::vector<MPI_Status> statuses;
  size_t activeCount = 0;
};

bool MpiRequests::poll() {
  if (!activeCount)
    return false;
  int count = 0;
  int code = MPI_Testsome(static_cast<int>(requests.size()), requests.data(),
                          &count, completed.data(), statuses.data());
  if (code == MPI_ERR_IN_STATUS)
    for (int i = 0; i < count; ++i)
      check(statuses[size_t(i)].MPI_ERROR, "MPI_Testsome");
  check(code, "MPI_Testsome");
  if (count == MPI_UNDEFINED)
    count = static_cast<int>(activeCount);
  activeCount -= size_t(count);
  return count > 0;
}

/// Takes back receives that nothing has arrived for, for a short while. MPI has
/// no way to take back a send.
void MpiRequests::cancel() {
  const auto deadline = Clock::now() + std::chrono::milliseconds(100);
  for (size_t i = 0; i < requests.size(); ++i)
    if (areReceives[i] && requests[i] != MPI_REQUEST_NULL)
      MPI_Cancel(&requests[i]);
  for (size_t i = 0; i < requests.size(); ++i) {
    int done = 0;
    while (areReceives[i] && requests[i] != MPI_REQUEST_NULL && !done &&
           Clock::now() < deadline)
      MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
  }
  activeCount = 0;
  clear();
}

/// Communicators live until MPI is finalised: freeing one is collective too,
/// and ranks let go of them in any order.
class MpiWire final : public Wire {
public:
  explicit MpiWire(MPI_Comm comm);
  int rank() const override { return ownRank; }
  int ranks() const override { return rankCount; }
  int numberInJob(int rank) const override { return numbers[size_t(rank)]; }
  std::unique_ptr<Requests> makeRequests() override {
    return std::make_unique<MpiRequests>(comm);
  }
  std::unique_ptr<Wire> split(int color, int key) override {
    MPI_Comm result = MPI_COMM_NULL;
    check(MPI_Comm_split(comm, color, key, &result), "MPI_Comm_split");
    MPI_Comm_set_errhandler(result, MPI_ERRORS_RETURN);
    return std::make_unique<MpiWire>(result);
  }

private:
  const MPI_Comm comm;
  int ownRank = 0, rankCount = 1;
  std::vector<int> numbers;
};

MpiWire::MpiWire(MPI_Comm comm) : comm(comm) {
  check(MPI_Comm_rank(comm, &ownRank), "MPI_Comm_rank");
  check(MPI_Comm_size(comm, &rankCount), "MPI_Comm_size");
  std::vector<int> own(static_cast<size_t>(rankCount));
  numbers.resize(static_cast<size_t>(rankCount));
  for (int rank = 0; rank < rankCount; ++rank)
    own[size_t(rank)] = rank;
  MPI_Group group, world;
  check(MPI_Comm_group(comm, &group), "MPI_Comm_group");
  check(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  check(MPI_Group_translate_ranks(group, rankCount, own.data(), world,
                                  numbers.data()),
        "MPI_Group_translate_ranks");
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

class MpiJob final : public Job {
public:
  MpiJob();

  std::unique_lock<std::recursive_mutex> lock() override;
  std::unique_ptr<Wire> makeWire() override {
    return std::make_unique<MpiWire>(duplicateWorld());
  }

private:
  static MPI_Comm duplicateWorld();
  void tell(const Message &message) override;
  bool hear(Message &message) override;
  [[noreturn]] void kill() override;
  void close() override;
  bool isClosed() const override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    return finalized != 0;
  }
  void listen();

  std::thread::id thread = std::this_thread::get_id();
  bool ownsMpi = false, firstThreadOnly = false;
  MPI_Comm control = MPI_COMM_NULL;
  Message incoming = {};
  MPI_Request listening = MPI_REQUEST_NULL;
  std::unique_ptr<MpiRequests> sends;
};

MpiJob::MpiJob() {
  int initialized = 0, provided = MPI_THREAD_SINGLE;
  check(MPI_Initialized(&initialized), "MPI_Initialized");
  if (initialized) {
    check(MPI_Query_thread(&provided), "MPI_Query_thread");
  } else {
    // Calls are serialised here, so that MPI need not lock for itself.
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided),
          "MPI_Init_thread");
    ownsMpi = true;
  }
  firstThreadOnly = provided < MPI_THREAD_SERIALIZED;
  control = duplicateWorld();
  sends = std::make_unique<MpiRequests>(control);
  int rank = 0, ranks = 1;
  check(MPI_Comm_rank(control, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(control, &ranks), "MPI_Comm_size");
  setSize(rank, ranks);
  listen();
}

std::unique_lock<std::recursive_mutex> MpiJob::lock() {
  auto lock = Job::lock();
  if (firstThreadOnly && std::this_thread::get_id() != thread)
    throw CommunicationError(
        "mpi communicator: this MPI allows calls from the thread that "
        "initialised it only (wanted MPI_THREAD_SERIALIZED)");
  return lock;
}

MPI_Comm MpiJob::duplicateWorld() {
  MPI_Comm result = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &result), "MPI_Comm_dup");
  MPI_Comm_set_errhandler(result, MPI_ERRORS_RETURN);
  return result;
}

void MpiJob::listen() {
  check(MPI_Irecv(&incoming, sizeof(Message), MPI_BYTE, MPI_ANY_SOURCE,
                  kControlTag, control, &listening),
        "MPI_Irecv");
}

void MpiJob::tell(const Message &message) {
  for (int peer = 0; peer < ranks(); ++peer)
    if (peer != rank())
      sends->send(&message, sizeof(Message), peer, kControlTag);
}

bool MpiJob::hear(Message &message) {
  sends->poll();
  int done = 0;
  if (MPI_Test(&listening, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done)
    return false;
  message = incoming;
  listen();
  return true;
}

void MpiJob::kill() {
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void MpiJob::close() {
  MPI_Cancel(&listening);
  MPI_Wait(&listening, MPI_STATUS_IGNORE);
  if (ownsMpi)
    MPI_Finalize();
}

} // namespace

Job &mpiJob() {
  static Job *job = [] {
    Job *made = new MpiJob();
    std::atexit([] { mpiJob().finalize(); });
    return made;
  }();
  return *job;
}

} // namespace zrt::processes
