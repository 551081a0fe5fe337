// Starts something else than it is asked for, where a fault is injected.
#ifndef ZERO_RUNTIME_COMMUNICATOR_FAULTYCOMMUNICATOR_H
#define ZERO_RUNTIME_COMMUNICATOR_FAULTYCOMMUNICATOR_H

#include "communicator/ForwardingCommunicator.h"
#include "flight/FlightRecorder.h"
#include "injection/Faults.h"

#include <map>
#include <optional>

namespace zrt {

/// On top of what writes down operations, so that the record says what was
/// really started.
class FaultyCommunicator final : public ForwardingCommunicator {
public:
  /// All are borrowed; `recorder` may be null.
  FaultyCommunicator(Communicator &inner, Faults &faults,
                     FlightRecorder *recorder)
      : ForwardingCommunicator(inner), faults(faults), recorder(recorder) {}

  Ticket startOn(Stream stream, Collective kind, Reduction reduction,
                 const std::vector<Transfer> &parts) override;
  void wait(Ticket ticket) override;
  void barrier() override { inner.barrier(); }
  std::unique_ptr<Communicator> split(int color, int key) override {
    return wrap(inner.split(color, key));
  }
  std::unique_ptr<Communicator> makeGroup(const Mesh &mesh,
                                          uint32_t group) override {
    return wrap(inner.makeGroup(mesh, group));
  }

private:
  /// The arguments of a start.
  struct Asked {
    Stream stream = Stream::Compute;
    Collective kind = Collective::AllReduce;
    Reduction reduction = Reduction::Sum;
    std::vector<Transfer> parts;
    std::string name; ///< of the command; "": it is none
    uint32_t command = kNoCommand;
  };
  /// The additional work of the wait for a ticket.
  struct Later {
    std::optional<Ticket> ticket; ///< of another start that it stands for
    bool replaces = false; ///< `ticket` is waited for instead, not as well
    std::optional<Transfer> flipped; ///< received with a changed bit
    uint64_t bytes = 0, bit = 0;
  };
  FaultyCommunicator(std::unique_ptr<Communicator> part, Faults &faults,
                     FlightRecorder *recorder)
      : ForwardingCommunicator(std::move(part)), faults(faults),
        recorder(recorder) {}
  std::unique_ptr<Communicator> wrap(std::unique_ptr<Communicator> part);
  Ticket startAs(const InjectedFault &fault, Asked asked);
  Ticket begin(const Asked &asked);
  Ticket beginAgain(const Asked &asked);
  void beginHeld();

  Faults &faults;
  FlightRecorder *recorder;
  std::map<Ticket, Later> later;
  std::optional<Asked> held; ///< has not been started yet
  Ticket heldTicket = 0;
  /// Tickets of what is not started have a bit that others have not.
  static constexpr Ticket kNotStarted = Ticket(1) << 62;
  Ticket notStarted = 0;
};

} // namespace zrt

#endif // ZERO_RUNTIME_COMMUNICATOR_FAULTYCOMMUNICATOR_H
