// How bytes travel between the processes of a job: by MPI, or over sockets.
#ifndef ZERO_RUNTIME_COMMUNICATOR_WIRE_H
#define ZERO_RUNTIME_COMMUNICATOR_WIRE_H

#include <cstddef>
#include <memory>

namespace zrt::processes {

/// Messages that are sent and received together; their memory is kept. Of those
/// from one process to another with one tag, message i is for receive i.
/// Buffers are borrowed until a request is complete.
class Requests {
public:
  virtual ~Requests();
  /// Start one, which is the next by index. `bytes` fit an int. Throw
  /// CommunicationError where the wire fails.
  virtual void send(const void *from, size_t bytes, int peer, int tag) = 0;
  virtual void receive(void *to, size_t bytes, int peer, int tag) = 0;
  /// Number of requests that have not completed.
  virtual size_t active() const = 0;
  virtual bool isComplete(size_t index) const = 0;
  /// Forgets all. \pre active() == 0.
  virtual void clear() = 0;
  /// Looks once. Returns whether any request completed since the last look.
  virtual bool poll() = 0;
  /// Gives up what is not complete: buffers are about to go away.
  virtual void cancel() = 0;
};

/// The processes of a group, which have messages of their own.
class Wire {
public:
  virtual ~Wire();
  virtual int rank() const = 0;
  virtual int ranks() const = 0;
  /// The number in the job of a rank of the group.
  virtual int numberInJob(int rank) const = 0;
  virtual std::unique_ptr<Requests> makeRequests() = 0;
  /// As `Communicator::split`. All ranks are known to call it.
  virtual std::unique_ptr<Wire> split(int color, int key) = 0;
};

} // namespace zrt::processes

#endif // ZERO_RUNTIME_COMMUNICATOR_WIRE_H
