#include "device/cuda/NcclChannel.h"

#include "communicator/Operation.h"
#include "program/Float16.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

using namespace zrt;
using namespace zrt::nccl;

using Clock = std::chrono::steady_clock;

[[noreturn]] static void fail(ncclResult_t status, const char *call) {
  std::string text = std::string(call) + ": " + ncclGetErrorString(status);
  if (const char *more = ncclGetLastError(nullptr); more && *more)
    text += std::string(" (") + more + ")";
  throw CommunicationError(text);
}

int zrt::nccl::versionCode() {
  int version = 0;
  ncclGetVersion(&version);
  return version;
}

void zrt::nccl::check(ncclResult_t status, const char *call) {
  if (status != ncclSuccess && status != ncclInProgress)
    fail(status, call);
}

ncclDataType_t zrt::nccl::typeOf(DataType type) {
  switch (type) {
  case DataType::F32:
    return ncclFloat32;
  case DataType::F16:
    return ncclFloat16;
  case DataType::BF16:
    return ncclBfloat16;
  case DataType::F64:
    return ncclFloat64;
  case DataType::I1:
  case DataType::I8:
    return ncclInt8;
  case DataType::I32:
    return ncclInt32;
  case DataType::I64:
    return ncclInt64;
  case DataType::U16:
    break;
  }
  throw std::invalid_argument(std::string("NCCL has no elements of ") +
                              nameOf(type));
}

namespace {

struct ScalarType {
  DataType type;
  ncclDataType_t nccl;
};
constexpr ScalarType kPrescaled[] = {{DataType::F32, ncclFloat32},
                                     {DataType::F16, ncclFloat16},
                                     {DataType::BF16, ncclBfloat16}};

} // namespace

bool Channel::isPrescaled(DataType type) {
  return std::any_of(
      std::begin(kPrescaled), std::end(kPrescaled),
      [type](const ScalarType &scalar) { return scalar.type == type; });
}

void Channel::connect(Communicator &ranks, double seconds) {
  host = &ranks;
  timeoutSeconds = seconds;
  ncclUniqueId id = {};
  if (ranks.rank() == 0)
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ranks.run(Collective::Broadcast, Reduction::Sum,
            {{&id, &id, sizeof(id), DataType::I8, 0}});
  join(id, ranks.ranks(), ranks.rank());
  makePrescaledSums();
}

void Channel::connectTwo(Communicator &ranks, int peer, bool isSender,
                         double seconds) {
  host = &ranks;
  timeoutSeconds = seconds;
  prescaled.fill(ncclSum);
  ncclUniqueId id = {};
  if (isSender)
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ranks.run(isSender ? Collective::Send : Collective::Receive, Reduction::Sum,
            {{&id, &id, sizeof(id), DataType::I8, peer}});
  join(id, 2, isSender ? 0 : 1);
}

void Channel::join(const ncclUniqueId &id, int ranks, int rank) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  check(ncclCommInitRankConfig(&handle, ranks, id, rank, &config),
        "ncclCommInitRankConfig");
  settle();
}

void Channel::split(const Channel &all, int color, int key,
                    Communicator &ranks) {
  host = &ranks;
  timeoutSeconds = all.timeoutSeconds;
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  check(ncclCommSplit(all.handle, color, key, &handle, &config),
        "ncclCommSplit");
  // The new communicator is one when the old one is done.
  all.settle();
  settle();
  makePrescaledSums();
}

void Channel::makePrescaledSums() {
  // One rank's sum is its own values.
  prescaled.fill(ncclSum);
  if (host->ranks() == 1)
    return;
  float factor = float(prescaleOf(host->ranks()));
  for (const ScalarType &scalar : kPrescaled) {
    uint16_t narrow = scalar.type == DataType::F16 ? f32ToF16Portable(factor)
                                                   : f32ToBf16(factor);
    void *value = scalar.type == DataType::F32 ? static_cast<void *>(&factor)
                                               : static_cast<void *>(&narrow);
    check(ncclRedOpCreatePreMulSum(&prescaled[size_t(scalar.type)], value,
                                   scalar.nccl, ncclScalarHostImmediate,
                                   handle),
          "ncclRedOpCreatePreMulSum");
  }
}

void Channel::settle(double seconds) const {
  const auto begin = Clock::now();
  const double patience = seconds > 0 ? seconds : timeoutSeconds;
  ncclResult_t state = ncclInProgress;
  while (true) {
    check(ncclCommGetAsyncError(handle, &state), "ncclCommGetAsyncError");
    if (state != ncclInProgress)
      break;
    host->checkPeers();
    if (patience > 0 &&
        std::chrono::duration<double>(Clock::now() - begin).count() > patience)
      throw CommunicationError("NCCL made no progress for " +
                               formatSeconds(patience) +
                               ": did every rank start the same program?");
    std::this_thread::yield();
  }
  if (state != ncclSuccess)
    fail(state, "NCCL");
}

void Channel::checkOperations() const {
  ncclResult_t state = ncclSuccess;
  check(ncclCommGetAsyncError(handle, &state), "ncclCommGetAsyncError");
  if (state != ncclSuccess && state != ncclInProgress)
    fail(state, "a collective");
}

void Channel::abort(const std::vector<Channel *> &channels) noexcept {
  if (channels.empty())
    return;
  // An error here changes nothing: there is no other way to end them.
  ncclGroupStart();
  for (Channel *channel : channels)
    if (channel->handle)
      ncclCommAbort(std::exchange(channel->handle, nullptr));
  ncclGroupEnd();
}

bool Channel::close() noexcept {
  if (!handle)
    return true;
  try {
    check(ncclCommFinalize(handle), "ncclCommFinalize");
    settle();
    ncclCommDestroy(std::exchange(handle, nullptr));
    return true;
  } catch (const std::exception &) {
    return false;
  }
}
