#include "communicator/MpiWire.h"

#include "communicator/MpiLibrary.h"

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
  mpi().Error_string(code, text, &length);
  throw CommunicationError(std::string("mpi communicator: ") + call + ": " +
                           text);
}

class MpiRequests final : public Requests {
public:
  explicit MpiRequests(MPI_Comm comm) : comm(comm) {}

  void send(const void *from, size_t bytes, int peer, int tag) override {
    check(mpi().Isend(from, int(bytes), mpi().byte, peer, tag, comm, add()),
          "MPI_Isend");
  }
  void receive(void *to, size_t bytes, int peer, int tag) override {
    check(mpi().Irecv(to, int(bytes), mpi().byte, peer, tag, comm, add()),
          "MPI_Irecv");
    areReceives.back() = true;
  }
  size_t active() const override { return activeCount; }
  bool isComplete(size_t index) const override {
    return requests[index] == mpi().noRequest;
  }
  void clear() override {
    requests.clear();
    areReceives.clear();
  }
  bool poll() override;
  void cancel() override;

private:
  MPI_Request *add() {
    requests.push_back(mpi().noRequest);
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
  int code = mpi().Testsome(static_cast<int>(requests.size()), requests.data(),
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
    if (areReceives[i] && requests[i] != mpi().noRequest)
      mpi().Cancel(&requests[i]);
  for (size_t i = 0; i < requests.size(); ++i) {
    int done = 0;
    while (areReceives[i] && requests[i] != mpi().noRequest && !done &&
           Clock::now() < deadline)
      mpi().Test(&requests[i], &done, MPI_STATUS_IGNORE);
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
    MPI_Comm result = mpi().noComm;
    check(mpi().Comm_split(comm, color, key, &result), "MPI_Comm_split");
    mpi().Comm_set_errhandler(result, mpi().errorsReturn);
    return std::make_unique<MpiWire>(result);
  }

private:
  const MPI_Comm comm;
  int ownRank = 0, rankCount = 1;
  std::vector<int> numbers;
};

MpiWire::MpiWire(MPI_Comm comm) : comm(comm) {
  check(mpi().Comm_rank(comm, &ownRank), "MPI_Comm_rank");
  check(mpi().Comm_size(comm, &rankCount), "MPI_Comm_size");
  std::vector<int> own(static_cast<size_t>(rankCount));
  numbers.resize(static_cast<size_t>(rankCount));
  for (int rank = 0; rank < rankCount; ++rank)
    own[size_t(rank)] = rank;
  MPI_Group group, world;
  check(mpi().Comm_group(comm, &group), "MPI_Comm_group");
  check(mpi().Comm_group(mpi().world, &world), "MPI_Comm_group");
  check(mpi().Group_translate_ranks(group, rankCount, own.data(), world,
                                    numbers.data()),
        "MPI_Group_translate_ranks");
  mpi().Group_free(&group);
  mpi().Group_free(&world);
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
    mpi().Finalized(&finalized);
    return finalized != 0;
  }
  void listen();

  std::thread::id thread = std::this_thread::get_id();
  bool ownsMpi = false, firstThreadOnly = false;
  MPI_Comm control = mpi().noComm;
  Message incoming = {};
  MPI_Request listening = mpi().noRequest;
  std::unique_ptr<MpiRequests> sends;
};

MpiJob::MpiJob() {
  int initialized = 0, provided = MPI_THREAD_SINGLE;
  check(mpi().Initialized(&initialized), "MPI_Initialized");
  if (initialized) {
    check(mpi().Query_thread(&provided), "MPI_Query_thread");
  } else {
    // Calls are serialised here, so that MPI need not lock for itself.
    check(mpi().Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided),
          "MPI_Init_thread");
    ownsMpi = true;
  }
  firstThreadOnly = provided < MPI_THREAD_SERIALIZED;
  control = duplicateWorld();
  sends = std::make_unique<MpiRequests>(control);
  int rank = 0, ranks = 1;
  check(mpi().Comm_rank(control, &rank), "MPI_Comm_rank");
  check(mpi().Comm_size(control, &ranks), "MPI_Comm_size");
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
  MPI_Comm result = mpi().noComm;
  check(mpi().Comm_dup(mpi().world, &result), "MPI_Comm_dup");
  mpi().Comm_set_errhandler(result, mpi().errorsReturn);
  return result;
}

void MpiJob::listen() {
  check(mpi().Irecv(&incoming, sizeof(Message), mpi().byte, MPI_ANY_SOURCE,
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
  if (mpi().Test(&listening, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done)
    return false;
  message = incoming;
  listen();
  return true;
}

void MpiJob::kill() {
  mpi().Abort(mpi().world, 1);
  std::abort();
}

void MpiJob::close() {
  mpi().Cancel(&listening);
  mpi().Wait(&listening, MPI_STATUS_IGNORE);
  // MPI wants this of the thread that began it.
  if (ownsMpi && std::this_thread::get_id() == thread)
    mpi().Finalize();
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
