#include "engine/Failure.h"

#include "io/ErrorText.h"
#include "io/Together.h"

using namespace zrt;

void Failure::record(const std::string &message) {
  std::lock_guard<std::mutex> lock(mutex);
  if (text.empty())
    text = message;
}

void Failure::record(const std::exception &error, Communicator &communicator) {
  const std::string what = textOf(error);
  const bool namesTheRank = dynamic_cast<const PeerError *>(&error);
  record(communicator.ranks() == 1 || namesTheRank
             ? what
             : "rank " + std::to_string(communicator.rank()) + ": " + what);
  communicator.abort(what);
}
