// Writes down what ranks do together, on top of any communicator.
#ifndef ZERO_RUNTIME_COMMUNICATOR_WATCHEDCOMMUNICATOR_H
#define ZERO_RUNTIME_COMMUNICATOR_WATCHEDCOMMUNICATOR_H

#include "communicator/ForwardingCommunicator.h"
#include "communicator/Operation.h"
#include "flight/FlightRecorder.h"

#include <vector>

namespace zrt {

/// Hands all on to another communicator, and adds to the record of the rank
/// which meeting an operation is. One that is a command of the program has a
/// place in the record already; others get one.
class WatchedCommunicator final : public ForwardingCommunicator {
public:
  /// Both are borrowed. `inner` has all ranks of the run.
  WatchedCommunicator(Communicator &inner, FlightRecorder &recorder);

  Ticket startOn(Stream stream, Collective kind, Reduction reduction,
                 const std::vector<Transfer> &parts) override;
  void wait(Ticket ticket) override;
  void barrier() override;
  std::unique_ptr<Communicator> split(int color, int key) override;
  std::unique_ptr<Communicator> makeGroup(const Mesh &mesh,
                                          uint32_t group) override;

private:
  WatchedCommunicator(std::unique_ptr<Communicator> owned,
                      FlightRecorder &recorder, uint64_t id);
  /// A started operation that is not waited for.
  struct Open {
    Ticket ticket;
    Collective kind;
    FlightMeeting meeting; ///< of a transfer: none
  };
  FlightMeeting meet(uint64_t signature);
  template <class Call> void meetAtOnce(Meeting meeting, Call call);

  FlightRecorder &recorder;
  const uint64_t id;
  const uint32_t group;
  uint64_t meetings = 0, splits = 0;
  std::vector<Open> open;
};

} // namespace zrt

#endif // ZERO_RUNTIME_COMMUNICATOR_WATCHEDCOMMUNICATOR_H
