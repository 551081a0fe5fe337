// Failures of one rank that are failures of all.
#ifndef ZERO_RUNTIME_IO_TOGETHER_H
#define ZERO_RUNTIME_IO_TOGETHER_H

#include "communicator/Communicator.h"

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>

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
/// The same on all ranks, which all call it.
uint64_t sharedTag(Communicator &communicator);

/// `text` of rank `root`, on all, which all call it.
std::string broadcastText(Communicator &communicator, std::string text,
                          int root = 0);

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
