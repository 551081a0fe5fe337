// Why the ranks of a process stopped.
#ifndef ZERO_RUNTIME_ENGINE_FAILURE_H
#define ZERO_RUNTIME_ENGINE_FAILURE_H

#include "communicator/Communicator.h"

#include <exception>
#include <mutex>
#include <string>

namespace zrt {

/// The first failure of a process: what comes later follows from it.
class Failure {
public:
  void record(const std::string &message);
  /// Records the failure of the rank of `communicator`, by name, and then tells
  /// its peers.
  void record(const std::exception &error, Communicator &communicator);

  /// Empty while all is well. Not while ranks run.
  const std::string &message() const { return text; }

private:
  std::mutex mutex;
  std::string text;
};

} // namespace zrt

#endif // ZERO_RUNTIME_ENGINE_FAILURE_H
