// Failures of one rank that are failures of all.
#ifndef ZERO_RUNTIME_IO_TOGETHER_H
#define ZERO_RUNTIME_IO_TOGETHER_H

#include "communicator/Communicator.h"

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace zrt {

/// Another rank failed, which `what()` names.
class PeerError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// Throws on all ranks where `error` is not empty on one: there
/// std::runtime_error with `error`, elsewhere PeerError with the same and the
/// rank's number. Called by all ranks.
void failTogether(Communicator &communicator, const std::string &error);

/// A number that nobody else has, by chance.
uint64_t randomTag();
/// A tag that is equal on all ranks, which all call it.
uint64_t sharedTag(Communicator &communicator);

/// `text` of rank `root`, on all, which all call it.
std::string broadcastText(Communicator &communicator, std::string text,
                          int root = 0);

/// `count` values of each rank, one rank behind the other, on all, which all
/// call it. A rank that has fewer adds zeros.
template <typename Value>
std::vector<Value> gatherAll(Communicator &communicator,
                             std::vector<Value> mine, size_t count) {
  static_assert(std::is_trivially_copyable_v<Value>);
  mine.resize(count);
  std::vector<Value> all(count * size_t(communicator.ranks()));
  if (count > 0)
    communicator.run(
        Collective::AllGather, Reduction::Sum,
        {{mine.data(), all.data(), count * sizeof(Value), DataType::I8, 0}});
  return all;
}

/// `mine` of each rank, by rank, on all, which all call it.
template <typename Value>
std::vector<Value> gatherAll(Communicator &communicator, const Value &mine) {
  return gatherAll(communicator, std::vector<Value>{mine}, 1);
}

/// The largest of all ranks, which all call it.
int64_t agreeOnMost(Communicator &communicator, int64_t mine);

/// Runs `body` on this rank, and fails on all ranks where it fails on one.
template <typename Body> void together(Communicator &communicator, Body body) {
  std::string error;
  try {
    body();
  } catch (const CommunicationError &) {
    throw;
  } catch (const std::exception &failure) {
    error = failure.what();
    if (error.empty())
      error = "unknown error";
  }
  failTogether(communicator, error);
}

} // namespace zrt

#endif // ZERO_RUNTIME_IO_TOGETHER_H
