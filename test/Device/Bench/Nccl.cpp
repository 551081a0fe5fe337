// NCCL among threads of one process. A communicator's work runs when all of its
// ranks have reached it; the last of them does it for all. Where NCCL would
// hang, `noteHang` says so.
#include "Nccl.h"

#include "Block.h"
#include "Meeting.h"
#include "Runtime.h"

#include "include/cuda_fp16.h"

#include "program/Float16.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

using namespace zrt::bench;

namespace {

struct Family;

/// One communicator, as all of its ranks see it.
struct World {
  explicit World(int ranks) : ranks(ranks) {}

  struct Meeting {
    std::map<int, std::vector<Part>> calls; ///< by rank
    bool isDone = false;
  };
  const int ranks;
  std::mutex mutex;
  int joined = 0;
  std::map<uint64_t, Meeting> meetings;
  std::shared_ptr<Family> family;
  /// Splits that are under way: color and key, by rank.
  std::map<uint64_t, std::map<int, std::pair<int, int>>> splits;
  std::map<std::pair<uint64_t, int>, std::shared_ptr<World>> parts;
};

/// The communicators of the same ranks: all ranks use them in one order.
struct Family {
  std::mutex mutex;
  std::vector<const World *> order;
  std::map<int, size_t> position; ///< by rank
};

/// One rank's side.
struct Side {
  std::shared_ptr<World> world;
  int rank = 0;
  uint64_t next = 0; ///< number of its next work to run
  uint64_t splits = 0;
  int registered = 0; ///< buffers and windows
  int waiting = 0;    ///< work that is queued and not done
  bool isAborted = false, isFinal = false;
  std::function<bool()> isBusy;  ///< until it is false
  bool wasAsked = true;          ///< since it became busy
  std::function<void()> settled; ///< called then
  /// Held by graphs, too.
  std::shared_ptr<void> reference = std::make_shared<int>();

  bool isInGraph() const { return reference.use_count() > 1; }
  void begin(std::function<bool()> busy = nullptr) {
    isBusy = std::move(busy);
    wasAsked = false;
  }
  /// Who asks first is told that NCCL is not done.
  bool settle() {
    advance();
    if (!std::exchange(wasAsked, true) || (isBusy && isBusy()))
      return false;
    isBusy = nullptr;
    if (auto call = std::exchange(settled, nullptr))
      call();
    return true;
  }
  bool isSettled() const { return wasAsked && !isBusy; }
};

} // namespace

struct ncclComm {
  std::shared_ptr<Side> side;
};

namespace {

std::mutex worldsMutex;
std::map<std::string, std::shared_ptr<World>> worlds; ///< by id
std::atomic<int> ids{0};
std::atomic<int> factors{0};
/// What was registered is named by a number: an abort has nothing to give back.
std::atomic<uintptr_t> registrations{0};

std::mutex windowsMutex;
std::map<int, Windows> windowsByRank;

Windows windowsOf(int rank) {
  std::lock_guard<std::mutex> lock(windowsMutex);
  const auto found = windowsByRank.find(rank);
  return found == windowsByRank.end() ? Windows::Come : found->second;
}
std::map<int, float> factorOf; ///< by number of the operation

/// The calls of a group that is open on this thread.
struct Group {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  struct Call {
    std::shared_ptr<Side> side;
    cudaStream_t stream;
    std::vector<Part> parts;
  };
  std::vector<Call> calls;
  std::vector<ncclComm_t> aborts;
};
thread_local Group group;
thread_local int64_t collectives = 0;
/// The communicators of this thread's device.
thread_local std::vector<std::shared_ptr<Side>> open;

/// Work of one rank: it is ready when all ranks have come.
Work meet(const std::shared_ptr<Side> &side, const std::vector<Part> &parts) {
  ++side->waiting;
  auto number = std::make_shared<int64_t>(-1);
  Work work;
  work.isReady = [=] {
    if (side->isAborted)
      return true;
    World &world = *side->world;
    const std::lock_guard<std::mutex> lock(world.mutex);
    if (*number < 0) {
      *number = int64_t(side->next++);
      World::Meeting &meeting = world.meetings[uint64_t(*number)];
      meeting.calls[side->rank] = parts;
      if (int(meeting.calls.size()) == world.ranks) {
        performAll(meeting.calls);
        meeting.calls.clear();
        meeting.isDone = true;
      }
    }
    return world.meetings[uint64_t(*number)].isDone;
  };
  work.run = [side] { --side->waiting; };
  return work;
}

void checkOrder(const Side &side) {
  Family &family = *side.world->family;
  const std::lock_guard<std::mutex> lock(family.mutex);
  const size_t at = family.position[side.rank]++;
  if (at == family.order.size())
    family.order.push_back(side.world.get());
  else if (family.order[at] != side.world.get())
    noteHang("rank " + std::to_string(side.rank) +
             " uses its communicators in another order than its peers");
}

/// Whether a rank sends or receives, and does not do both: a message, for which
/// ranks have no common order.
bool isOneWay(const std::vector<Part> &parts) {
  const auto isA = [&](Part::Kind kind) {
    return std::all_of(parts.begin(), parts.end(),
                       [=](const Part &part) { return part.kind == kind; });
  };
  return isA(Part::Send) || isA(Part::Recv);
}

void launch(const Group::Call &call) {
  ++collectives;
  const std::shared_ptr<Side> side = call.side;
  if (side->world->family && !isOneWay(call.parts))
    checkOrder(*side);
  const auto parts = call.parts;
  queue(
      call.stream, [side, parts] { return meet(side, parts); },
      side->reference);
  side->begin();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void forget(const std::shared_ptr<Side> &side) {
  open.erase(std::remove(open.begin(), open.end(), side), open.end());
}

ncclComm_t makeSide(const std::shared_ptr<World> &world, int rank) {
  auto side = std::make_shared<Side>();
  side->world = world;
  side->rank = rank;
  open.push_back(side);
  countHandle(1);
  {
    const std::lock_guard<std::mutex> lock(world->mutex);
    ++world->joined;
  }
  side->begin([world] {
    const std::lock_guard<std::mutex> lock(world->mutex);
    return world->joined < world->ranks;
  });
  return new ncclComm{side};
}

void countRegistered(Side &side, int by) {
  side.registered += by;
  countHandle(by);
}

void destroyComm(ncclComm_t comm) {
  forget(comm->side);
  countHandle(-1);
  delete comm;
}

/// `comms` are aborted together. What other communicators of the device wait
/// for keeps it from being done.
void abortAll(const std::vector<ncclComm_t> &comms) {
  for (ncclComm_t comm : comms) {
    if (comm->side->isInGraph())
      noteHang("ncclCommAbort of a communicator that a graph holds");
    comm->side->isAborted = true;
  }
  advance();
  for (const std::shared_ptr<Side> &side : open)
    if (!side->isAborted && side->waiting)
      noteHang("ncclCommAbort of a communicator while another one of the "
               "device waits for peers: they are aborted in one group");
  // What was registered is forgotten with a communicator.
  for (ncclComm_t comm : comms) {
    countHandle(-comm->side->registered);
    destroyComm(comm);
  }
}

ncclResult_t failedCall(ncclResult_t status) {
  if (group.depth)
    group.error = status;
  return status;
}

float scaleOf(ncclRedOp_t how) {
  const std::lock_guard<std::mutex> lock(worldsMutex);
  return how == ncclSum ? 1.0f : factorOf.at(int(how));
}

ncclResult_t addPart(Part part, size_t sent, size_t received, ncclComm_t comm,
                     cudaStream_t stream) {
  const size_t bytes = part.count * bytesOf(part.type);
  if (!comm || !comm->side->isSettled() || comm->side->isFinal)
    return failedCall(ncclInvalidUsage);
  if ((sent && !isAllocated(part.send, sent * bytes)) ||
      (received && !isAllocated(part.receive, received * bytes)))
    return failedCall(ncclInvalidArgument);
  ncclGroupStart();
  auto known = std::find_if(
      group.calls.begin(), group.calls.end(), [&](const Group::Call &call) {
        return call.side == comm->side && call.stream == stream;
      });
  if (known == group.calls.end())
    known = group.calls.insert(known, {comm->side, stream, {}});
  known->parts.push_back(part);
  return ncclGroupEnd();
}

size_t ranksOf(ncclComm_t comm) {
  return comm ? size_t(comm->side->world->ranks) : 0;
}

} // namespace

void zrt::bench::setWindows(int rank, Windows windows) {
  std::lock_guard<std::mutex> lock(windowsMutex);
  windowsByRank[rank] = windows;
}

int zrt::bench::openGroups() { return group.depth; }

int64_t zrt::bench::countCollectives() { return collectives; }

ncclResult_t ncclGetVersion(int *version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
const char *ncclGetErrorString(ncclResult_t status) {
  return status == ncclSuccess           ? "no error"
         : status == ncclInProgress      ? "NCCL operation in progress"
         : status == ncclInvalidArgument ? "invalid argument"
                                         : "invalid usage";
}
const char *ncclGetLastError(ncclComm_t) { return ""; }

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  std::memset(id, 0, sizeof(*id));
  const std::string text = "id " + std::to_string(++ids);
  std::memcpy(id->internal, text.data(), text.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks,
                                    ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
  if (config->blocking)
    return ncclInvalidArgument;
  const std::lock_guard<std::mutex> lock(worldsMutex);
  std::shared_ptr<World> &world = worlds[id.internal];
  if (!world) {
    world = std::make_shared<World>(ranks);
    const bool isFirst = open.empty();
    world->family =
        isFirst ? std::make_shared<Family>() : open.front()->world->family;
  }
  *comm = makeSide(world, rank);
  return ncclInProgress;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key,
                           ncclComm_t *made, ncclConfig_t *config) {
  if (!comm->side->isSettled() || config->blocking)
    return failedCall(ncclInvalidUsage);
  *made = nullptr;
  const auto side = comm->side;
  const auto world = side->world;
  const uint64_t number = side->splits++;
  {
    const std::lock_guard<std::mutex> lock(world->mutex);
    world->splits[number][side->rank] = {color, key};
  }
  side->begin([=] {
    const std::lock_guard<std::mutex> lock(world->mutex);
    return int(world->splits[number].size()) < world->ranks;
  });
  side->settled = [=] {
    std::shared_ptr<World> part;
    int rank = 0;
    {
      const std::lock_guard<std::mutex> lock(world->mutex);
      int ranks = 0;
      for (const auto &[other, where] : world->splits[number]) {
        ranks += where.first == color;
        rank += where.first == color &&
                std::pair(where.second, other) < std::pair(key, side->rank);
      }
      std::shared_ptr<World> &known = world->parts[{number, color}];
      if (!known)
        known = std::make_shared<World>(ranks);
      part = known;
    }
    *made = makeSide(part, rank);
  };
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *state) {
  if (!comm)
    return ncclInvalidArgument;
  *state = comm->side->settle() ? ncclSuccess : ncclInProgress;
  return ncclSuccess;
}
ncclResult_t ncclCommCount(ncclComm_t comm, int *count) {
  *count = int(ranksOf(comm));
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  const auto side = comm->side;
  if (!side->isSettled() || side->isFinal)
    return ncclInvalidUsage;
  if (side->isInGraph())
    noteHang("ncclCommFinalize of a communicator that a graph holds");
  side->isFinal = true;
  side->begin([side] { return side->waiting > 0; });
  return ncclInProgress;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  if (!comm->side->isFinal || !comm->side->isSettled())
    return ncclInvalidUsage;
  destroyComm(comm);
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  ncclGroupStart();
  group.aborts.push_back(comm);
  return ncclGroupEnd();
}

ncclResult_t ncclMemAlloc(void **address, size_t bytes) {
  return cudaMalloc(address, bytes) == cudaSuccess ? ncclSuccess
                                                   : ncclInvalidArgument;
}
ncclResult_t ncclMemFree(void *address) {
  return cudaFree(address) == cudaSuccess ? ncclSuccess : ncclInvalidArgument;
}
ncclResult_t ncclCommRegister(ncclComm_t comm, void *address, size_t bytes,
                              void **handle) {
  if (!comm->side->isSettled() || !isAllocated(address, bytes))
    return ncclInvalidUsage;
  *handle = reinterpret_cast<void *>(++registrations);
  countRegistered(*comm->side, 1);
  return ncclSuccess;
}
ncclResult_t ncclCommDeregister(ncclComm_t comm, void *) {
  if (!comm->side->isSettled())
    return ncclInvalidUsage;
  countRegistered(*comm->side, -1);
  return ncclSuccess;
}
/// The window is there when the communicator has settled.
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *address,
                                    size_t bytes, ncclWindow_t *window, int) {
  if (!comm->side->isSettled() || !isAllocated(address, bytes))
    return ncclInvalidUsage;
  const Windows windows = windowsOf(comm->side->rank);
  if (windows == Windows::Fail)
    return ncclInvalidArgument;
  if (windows == Windows::NeverCome) {
    comm->side->begin([] { return true; });
    return ncclInProgress;
  }
  comm->side->begin();
  comm->side->settled = [window, side = comm->side.get()] {
    *window = reinterpret_cast<ncclWindow_t>(++registrations);
    countRegistered(*side, 1);
  };
  return ncclInProgress;
}
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t) {
  if (!comm->side->isSettled())
    return ncclInvalidUsage;
  countRegistered(*comm->side, -1);
  return ncclSuccess;
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *made, void *factor,
                                      ncclDataType_t type,
                                      ncclScalarResidence_t, ncclComm_t comm) {
  if (!comm->side->isSettled())
    return ncclInvalidUsage;
  uint16_t narrow = 0;
  float value = 0;
  std::memcpy(&narrow, factor, sizeof(narrow));
  if (type == ncclFloat32)
    std::memcpy(&value, factor, sizeof(value));
  else
    value = type == ncclFloat16 ? halfToFloat(narrow) : zrt::bf16ToF32(narrow);
  const std::lock_guard<std::mutex> lock(worldsMutex);
  const int number = ++factors;
  factorOf[number] = value;
  *made = ncclRedOp_t(number);
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (!group.depth)
    return ncclInvalidUsage;
  if (--group.depth)
    return ncclSuccess;
  const Group ended = std::exchange(group, Group());
  if (!ended.aborts.empty())
    abortAll(ended.aborts);
  if (ended.error != ncclSuccess)
    return ended.error;
  for (const Group::Call &call : ended.calls)
    launch(call);
  return ended.calls.empty() ? ncclSuccess : ncclInProgress;
}

static Part partOf(Part::Kind kind, const void *send, void *receive,
                   size_t count, ncclDataType_t type, float factor = 1,
                   int root = 0) {
  return {kind,
          static_cast<const char *>(send),
          static_cast<char *>(receive),
          count,
          type,
          factor,
          root};
}

ncclResult_t ncclAllReduce(const void *send, void *receive, size_t count,
                           ncclDataType_t type, ncclRedOp_t how,
                           ncclComm_t comm, cudaStream_t stream) {
  return addPart(
      partOf(Part::AllReduce, send, receive, count, type, scaleOf(how)), 1, 1,
      comm, stream);
}
ncclResult_t ncclReduceScatter(const void *send, void *receive, size_t count,
                               ncclDataType_t type, ncclRedOp_t how,
                               ncclComm_t comm, cudaStream_t stream) {
  return addPart(
      partOf(Part::ReduceScatter, send, receive, count, type, scaleOf(how)),
      ranksOf(comm), 1, comm, stream);
}
ncclResult_t ncclAllGather(const void *send, void *receive, size_t count,
                           ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return addPart(partOf(Part::AllGather, send, receive, count, type), 1,
                 ranksOf(comm), comm, stream);
}
ncclResult_t ncclBroadcast(const void *send, void *receive, size_t count,
                           ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  const bool isRoot = comm && comm->side->rank == root;
  return addPart(partOf(Part::Broadcast, send, receive, count, type, 1, root),
                 isRoot, 1, comm, stream);
}
ncclResult_t ncclReduce(const void *send, void *receive, size_t count,
                        ncclDataType_t type, ncclRedOp_t how, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  const bool isRoot = comm && comm->side->rank == root;
  return addPart(
      partOf(Part::Reduce, send, receive, count, type, scaleOf(how), root), 1,
      isRoot, comm, stream);
}
ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, cudaStream_t stream) {
  return addPart(partOf(Part::Send, send, nullptr, count, type, 1, peer), 1, 0,
                 comm, stream);
}
ncclResult_t ncclRecv(void *receive, size_t count, ncclDataType_t type,
                      int peer, ncclComm_t comm, cudaStream_t stream) {
  return addPart(partOf(Part::Recv, nullptr, receive, count, type, 1, peer), 0,
                 1, comm, stream);
}
