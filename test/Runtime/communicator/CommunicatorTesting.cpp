#include "CommunicatorTesting.h"

#include "../../Sanitized.h"

#include "communicator/InProcess.h"
#include "communicator/Processes.h"
#include "program/Float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <new>
#include <thread>

// Sanitizers bring their own operator new.
#ifndef ZERO_SANITIZED
namespace {
thread_local uint64_t allocationCount = 0;
} // namespace

void *operator new(size_t size) {
  ++allocationCount;
  if (void *memory = std::malloc(size ? size : 1))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
#endif

namespace zrt::testing {
namespace {

constexpr double kTimeoutSeconds = 600;
constexpr size_t kGuardBytes = 64;
constexpr char kGuard = 0x5a;

Communicator &processWorld() {
  static std::unique_ptr<Communicator> world = makeProcesses({kTimeoutSeconds});
  return *world;
}

void runGuarded(Communicator &communicator,
                const std::function<void(Communicator &)> &body) {
  try {
    body(communicator);
  } catch (const std::exception &error) {
    ADD_FAILURE() << "rank " << communicator.rank() << ": " << error.what();
    communicator.abort(error.what());
  }
}

uint64_t hash(uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdull;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53ull;
  return value ^ (value >> 33);
}

/// Of many magnitudes, so that the order of a sum shows in its last bits.
double makeReal(uint64_t bits) {
  double fraction = static_cast<double>(bits >> 40) / (1 << 24) + 0.5;
  int exponent = static_cast<int>((bits >> 8) % 13) - 6;
  return std::ldexp(bits & 1 ? fraction : -fraction, exponent);
}

template <class T> void put(std::vector<char> &bytes, uint64_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}
template <class T> T get(const std::vector<char> &bytes, uint64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

template <class T> T widen(T value) { return value; }
float widen(BFloat16 value) { return toFloat(value); }
float widen(Float16 value) { return toFloat(value); }

template <class T, class Sum> T narrow(Sum value) {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>)
    return fromFloat<T>(value);
  else
    return static_cast<T>(value);
}

template <class T>
std::vector<char> reduceAs(Reduction reduction,
                           const std::vector<std::vector<char>> &sources) {
  std::vector<char> result(sources[0].size());
  for (uint64_t i = 0; i < result.size() / sizeof(T); ++i) {
    auto sum = widen(get<T>(sources[0], i));
    for (size_t rank = 1; rank < sources.size(); ++rank) {
      auto next = widen(get<T>(sources[rank], i));
      if (reduction == Reduction::Max)
        sum = sum > next ? sum : next;
      else
        sum = static_cast<decltype(sum)>(sum + next);
    }
    if (reduction == Reduction::PrescaledSum)
      for (size_t power = 1; power < sources.size(); power *= 2)
        sum = static_cast<decltype(sum)>(sum / 2);
    put<T>(result, i, narrow<T>(sum));
  }
  return result;
}

std::vector<char> guarded(uint64_t bytes) {
  return std::vector<char>(bytes + 2 * kGuardBytes, kGuard);
}

void place(std::vector<char> &buffer, uint64_t offset,
           const std::vector<char> &bytes) {
  if (!bytes.empty())
    std::memcpy(buffer.data() + kGuardBytes + offset, bytes.data(),
                bytes.size());
}

} // namespace

#ifdef ZERO_SANITIZED
bool countsAllocations() { return false; }
uint64_t allocations() { return 0; }
#else
bool countsAllocations() { return true; }
uint64_t allocations() { return allocationCount; }
#endif

bool onProcesses() {
  static const bool are = areRanksProcesses();
  return are;
}

std::vector<int> groupSizes() {
  if (onProcesses())
    return {processWorld().ranks()};
  return {1, 2, 3, 4, 7};
}

void onRanks(int ranks, const std::function<void(Communicator &)> &body) {
  if (onProcesses()) {
    runGuarded(processWorld(), body);
    return;
  }
  auto communicators = makeInProcess(ranks, {kTimeoutSeconds});
  std::vector<std::thread> threads;
  for (auto &communicator : communicators)
    threads.emplace_back([&] { runGuarded(*communicator, body); });
  for (std::thread &thread : threads)
    thread.join();
}

std::string describe(const OperationSpec &spec, int rank, int ranks) {
  std::string text =
      std::string(nameOf(spec.kind)) + " " + nameOf(spec.reduction) +
      (spec.inPlace ? " in place" : "") + " on rank " + std::to_string(rank) +
      " of " + std::to_string(ranks) + ":";
  for (const PartSpec &part : spec.parts)
    text += " " + std::to_string(part.count) + " x " + nameOf(part.type) +
            " root " + std::to_string(part.root);
  return text;
}

std::vector<char> makeElements(DataType type, uint64_t seed, int rank,
                               uint64_t count) {
  std::vector<char> bytes(count * sizeOf(type));
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t bits = hash(seed * 0x9e3779b97f4a7c15ull + rank * 0x100000001ull +
                         i * 7919 + 1);
    switch (type) {
    case DataType::F32:
      put<float>(bytes, i, static_cast<float>(makeReal(bits)));
      break;
    case DataType::F16:
      put(bytes, i, fromFloat<Float16>(static_cast<float>(makeReal(bits))));
      break;
    case DataType::BF16:
      put(bytes, i, fromFloat<BFloat16>(static_cast<float>(makeReal(bits))));
      break;
    case DataType::F64:
      put<double>(bytes, i,
                  makeReal(bits) * (1 + std::ldexp(double(bits >> 12), -60)));
      break;
    case DataType::I1:
      put<uint8_t>(bytes, i, bits & 1);
      break;
    case DataType::I8:
      put<uint8_t>(bytes, i, bits);
      break;
    case DataType::I32:
      // A sum of few ranks' does not overflow: the loop adds signed numbers.
      put<int32_t>(bytes, i, static_cast<int32_t>(bits) / 16);
      break;
    case DataType::I64:
      put<int64_t>(bytes, i, static_cast<int64_t>(bits) / 16);
      break;
    case DataType::U16:
      put<uint16_t>(bytes, i, bits);
      break;
    }
  }
  return bytes;
}

std::vector<char> reduceByLoop(Reduction reduction, DataType type,
                               const std::vector<std::vector<char>> &sources) {
  switch (type) {
  case DataType::F32:
    return reduceAs<float>(reduction, sources);
  case DataType::F16:
    return reduceAs<Float16>(reduction, sources);
  case DataType::BF16:
    return reduceAs<BFloat16>(reduction, sources);
  case DataType::F64:
    return reduceAs<double>(reduction, sources);
  case DataType::I1:
    return reduceAs<uint8_t>(reduction, sources);
  case DataType::I8:
    return reduceAs<int8_t>(reduction, sources);
  case DataType::I32:
    return reduceAs<int32_t>(reduction, sources);
  case DataType::I64:
    return reduceAs<int64_t>(reduction, sources);
  case DataType::U16:
    return reduceAs<uint16_t>(reduction, sources);
  }
  return {};
}

Buffers::Buffers(const OperationSpec &spec, int rank, int ranks)
    : spec_(spec), rank_(rank), ranks_(ranks), parts_(spec.parts.size()) {
  for (size_t i = 0; i < parts_.size(); ++i)
    build(parts_[i], spec.parts[i], spec.seed * 131 + i);
}

/// What this rank receives.
std::vector<char> Buffers::expectedResult(const PartSpec &spec,
                                          uint64_t seed) const {
  const uint64_t bytes = spec.count * sizeOf(spec.type);
  if (spec_.kind == Collective::Broadcast)
    return makeElements(spec.type, seed, spec.root, spec.count);
  std::vector<std::vector<char>> sources;
  uint64_t sent = spec.count * (sendsToEach(spec_.kind) ? ranks_ : 1);
  for (int rank = 0; rank < ranks_; ++rank)
    sources.push_back(makeElements(spec.type, seed, rank, sent));
  if (receivesFromEach(spec_.kind)) {
    std::vector<char> all;
    for (const auto &source : sources) {
      auto begin =
          source.begin() + (sendsToEach(spec_.kind) ? rank_ * bytes : 0);
      all.insert(all.end(), begin, begin + bytes);
    }
    return all;
  }
  std::vector<char> sum = reduceByLoop(spec_.reduction, spec.type, sources);
  if (spec_.kind == Collective::ReduceScatter)
    sum = std::vector<char>(sum.begin() + rank_ * bytes,
                            sum.begin() + (rank_ + 1) * bytes);
  return sum;
}

void Buffers::build(Part &part, const PartSpec &spec, uint64_t seed) {
  const uint64_t bytes = spec.count * sizeOf(spec.type);
  const bool scatter = sendsToEach(spec_.kind);
  const bool gather = receivesFromEach(spec_.kind);
  const bool receives = spec_.kind != Collective::Reduce || spec.root == rank_;
  const bool sends = spec_.kind != Collective::Broadcast || spec.root == rank_;
  std::vector<char> own =
      makeElements(spec.type, seed, rank_, spec.count * (scatter ? ranks_ : 1));
  std::vector<char> result = expectedResult(spec, seed);
  Transfer transfer{nullptr, nullptr, spec.count, spec.type, spec.root};
  if (spec_.inPlace && worksInPlace(spec_.kind)) {
    // One buffer; sender and receiver see it at different offsets.
    uint64_t sendAt = gather ? rank_ * bytes : 0,
             receiveAt = scatter ? rank_ * bytes : 0;
    part.receive =
        guarded(std::max(own.size() + sendAt, result.size() + receiveAt));
    if (sends)
      place(part.receive, sendAt, own);
    part.expectedReceive = part.receive;
    if (receives)
      place(part.expectedReceive, receiveAt, result);
    transfer.send = part.receive.data() + kGuardBytes + sendAt;
    transfer.receive = part.receive.data() + kGuardBytes + receiveAt;
  } else {
    part.send = guarded(own.size());
    place(part.send, 0, own);
    part.expectedSend = part.send;
    part.receive = guarded(receives ? result.size() : 0);
    part.expectedReceive = part.receive;
    if (receives)
      place(part.expectedReceive, 0, result);
    transfer.send = sends ? part.send.data() + kGuardBytes : nullptr;
    transfer.receive = receives ? part.receive.data() + kGuardBytes : nullptr;
  }
  transfers_.push_back(transfer);
}

void Buffers::expectCorrect() const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Part &part = parts_[i];
    if (part.receive == part.expectedReceive && part.send == part.expectedSend)
      continue;
    size_t at = 0;
    while (at < part.receive.size() &&
           part.receive[at] == part.expectedReceive[at])
      ++at;
    ADD_FAILURE() << describe(spec_, rank_, ranks_) << ": part " << i
                  << (at == part.receive.size()
                          ? std::string(" changed its send buffer")
                          : " is wrong from byte " +
                                std::to_string(at - kGuardBytes) + " on");
  }
}

void runAndCheck(Communicator &communicator, const OperationSpec &spec) {
  Buffers buffers(spec, communicator.rank(), communicator.ranks());
  communicator.run(spec.kind, spec.reduction, buffers.transfers());
  buffers.expectCorrect();
}

} // namespace zrt::testing
