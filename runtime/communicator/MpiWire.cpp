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
  explicit MpiRequests(MPI_Comm comm) : comm_(comm) {}

  void send(const void *from, size_t bytes, int peer, int tag) override {
    check(MPI_Isend(from, int(bytes), MPI_BYTE, peer, tag, comm_, add()),
          "MPI_Isend");
  }
  void receive(void *to, size_t bytes, int peer, int tag) override {
    check(MPI_Irecv(to, int(bytes), MPI_BYTE, peer, tag, comm_, add()),
          "MPI_Irecv");
    receives_.back() = true;
  }
  size_t active() const override { return active_; }
  bool isComplete(size_t index) const override {
    return requests_[index] == MPI_REQUEST_NULL;
  }
  void clear() override {
    requests_.clear();
    receives_.clear();
  }
  bool poll() override;
  void cancel() override;

private:
  MPI_Request *add() {
    requests_.push_back(MPI_REQUEST_NULL);
    receives_.push_back(false);
    completed_.resize(requests_.size());
    statuses_.resize(requests_.size());
    ++active_;
    return &requests_.back();
  }

  const MPI_Comm comm_;
  std::vector<MPI_Request> requests_;
  std::vector<bool> receives_; ///< by request: it is one
  std::vector<int> completed_;
  std::vector<MPI_Status> statuses_;
  size_t active_ = 0;
};

bool MpiRequests::poll() {
  if (!active_)
    return false;
  int count = 0;
  int code = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(),
                          &count, completed_.data(), statuses_.data());
  if (code == MPI_ERR_IN_STATUS)
    for (int i = 0; i < count; ++i)
      check(statuses_[size_t(i)].MPI_ERROR, "MPI_Testsome");
  check(code, "MPI_Testsome");
  if (count == MPI_UNDEFINED)
    count = static_cast<int>(active_);
  active_ -= size_t(count);
  return count > 0;
}

/// Takes back receives that nothing has arrived for, for a short while. MPI has
/// no way to take back a send.
void MpiRequests::cancel() {
  const auto deadline = Clock::now() + std::chrono::milliseconds(100);
  for (size_t i = 0; i < requests_.size(); ++i)
    if (receives_[i] && requests_[i] != MPI_REQUEST_NULL)
      MPI_Cancel(&requests_[i]);
  for (size_t i = 0; i < requests_.size(); ++i) {
    int done = 0;
    while (receives_[i] && requests_[i] != MPI_REQUEST_NULL && !done &&
           Clock::now() < deadline)
      MPI_Test(&requests_[i], &done, MPI_STATUS_IGNORE);
  }
  active_ = 0;
  clear();
}

/// Communicators live until MPI is finalised: freeing one is collective too,
/// and ranks let go of them in any order.
class MpiWire final : public Wire {
public:
  explicit MpiWire(MPI_Comm comm);
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  int numberInJob(int rank) const override { return numbers_[size_t(rank)]; }
  std::unique_ptr<Requests> makeRequests() override {
    return std::make_unique<MpiRequests>(comm_);
  }
  std::unique_ptr<Wire> split(int color, int key) override {
    MPI_Comm result = MPI_COMM_NULL;
    check(MPI_Comm_split(comm_, color, key, &result), "MPI_Comm_split");
    MPI_Comm_set_errhandler(result, MPI_ERRORS_RETURN);
    return std::make_unique<MpiWire>(result);
  }

private:
  const MPI_Comm comm_;
  int rank_ = 0, ranks_ = 1;
  std::vector<int> numbers_;
};

MpiWire::MpiWire(MPI_Comm comm) : comm_(comm) {
  check(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(comm, &ranks_), "MPI_Comm_size");
  std::vector<int> own(static_cast<size_t>(ranks_));
  numbers_.resize(static_cast<size_t>(ranks_));
  for (int rank = 0; rank < ranks_; ++rank)
    own[size_t(rank)] = rank;
  MPI_Group group, world;
  check(MPI_Comm_group(comm, &group), "MPI_Comm_group");
  check(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  check(MPI_Group_translate_ranks(group, ranks_, own.data(), world,
                                  numbers_.data()),
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

  std::thread::id thread_ = std::this_thread::get_id();
  bool ownsMpi_ = false, firstThreadOnly_ = false;
  MPI_Comm control_ = MPI_COMM_NULL;
  Message incoming_ = {};
  MPI_Request receive_ = MPI_REQUEST_NULL;
  std::unique_ptr<MpiRequests> sends_;
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
    ownsMpi_ = true;
  }
  firstThreadOnly_ = provided < MPI_THREAD_SERIALIZED;
  control_ = duplicateWorld();
  sends_ = std::make_unique<MpiRequests>(control_);
  int rank = 0, ranks = 1;
  check(MPI_Comm_rank(control_, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(control_, &ranks), "MPI_Comm_size");
  setSize(rank, ranks);
  listen();
}

std::unique_lock<std::recursive_mutex> MpiJob::lock() {
  auto lock = Job::lock();
  if (firstThreadOnly_ && std::this_thread::get_id() != thread_)
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
  check(MPI_Irecv(&incoming_, sizeof(Message), MPI_BYTE, MPI_ANY_SOURCE,
                  kControlTag, control_, &receive_),
        "MPI_Irecv");
}

void MpiJob::tell(const Message &message) {
  for (int peer = 0; peer < ranks(); ++peer)
    if (peer != rank())
      sends_->send(&message, sizeof(Message), peer, kControlTag);
}

bool MpiJob::hear(Message &message) {
  sends_->poll();
  int done = 0;
  if (MPI_Test(&receive_, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done)
    return false;
  message = incoming_;
  listen();
  return true;
}

void MpiJob::kill() {
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

void MpiJob::close() {
  MPI_Cancel(&receive_);
  MPI_Wait(&receive_, MPI_STATUS_IGNORE);
  if (ownsMpi_)
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
