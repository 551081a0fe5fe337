// How bytes move from one process to another, beside the collectives.
#ifndef ZERO_RUNTIME_COMMUNICATOR_PROCESSMAIL_H
#define ZERO_RUNTIME_COMMUNICATOR_PROCESSMAIL_H

#include "communicator/Communicator.h"
#include "communicator/Wire.h"

#include <memory>
#include <string>
#include <vector>

namespace zrt::processes {

/// Sends and receives of one rank, in steps that never block. Message i from a
/// rank on a lane is for receive i. What a message holds goes ahead of its
/// bytes, so that a receive of something else is an error and not a damaged
/// buffer.
class Mail {
public:
  explicit Mail(Wire &wire) : wire(wire) {}

  /// Starts one; its buffer is borrowed until `isDone`.
  void start(uint64_t ticket, bool isSend, const Transfer &transfer);
  /// Returns whether anything moved. Puts into `error` what a message is that
  /// does not fit its receive.
  bool progress(std::string &error);
  bool isKnown(uint64_t ticket) const { return find(ticket) != nullptr; }
  bool isDone(uint64_t ticket) const;
  void forget(uint64_t ticket);
  int peerOf(uint64_t ticket) const { return find(ticket)->peer; }
  /// "a receive of 12 x f32 from rank 1"
  std::string describe(uint64_t ticket) const;
  size_t pending() const { return started_.size(); }
  /// Stops receiving into buffers that will go away.
  void cancel();

private:
  struct Header {
    uint64_t count = 0;
    uint64_t type = 0;
  };
  struct Started {
    uint64_t ticket = 0;
    bool isSend = false;
    int peer = 0;
    Transfer transfer;
    Header header; ///< what is sent, or what has arrived
    std::unique_ptr<Requests> headers, bytes;
    bool hasBytes = false; ///< whether their requests are made
  };

  Started *find(uint64_t ticket) const;
  void moveBytes(Started &started);

  Wire &wire;
  std::vector<std::unique_ptr<Started>> started_; ///< in their order
};

} // namespace zrt::processes

#endif // ZERO_RUNTIME_COMMUNICATOR_PROCESSMAIL_H
