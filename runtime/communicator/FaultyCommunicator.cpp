#include "communicator/FaultyCommunicator.h"

#include <utility>

using namespace zrt;

namespace {

/// Bytes of a buffer with `count` elements, or as many for each rank.
uint64_t bytesOf(const Transfer &part, bool isForEach, int ranks) {
  return part.count * sizeOf(part.type) * (isForEach ? uint64_t(ranks) : 1);
}

} // namespace

Communicator::Ticket
FaultyCommunicator::startOn(Stream stream, Collective kind, Reduction reduction,
                            const std::vector<Transfer> &parts) {
  const std::optional<InjectedFault> fault =
      faults.next(kMeetingOperation, nameOf(kind));
  Asked asked{stream, kind, reduction, parts, "", kNoCommand};
  if (const FlightOperation *current = FlightOperation::current()) {
    asked.name = current->text();
    asked.command = current->command();
  }
  if (fault)
    return startAs(*fault, std::move(asked));
  if (!held)
    return begin(asked);
  // What was held comes next, also where this is an error already.
  try {
    const Ticket ticket = begin(asked);
    beginHeld();
    return ticket;
  } catch (const CommunicationError &) {
    if (held)
      beginHeld();
    throw;
  }
}

Communicator::Ticket FaultyCommunicator::begin(const Asked &asked) {
  return inner.startOn(asked.stream, asked.kind, asked.reduction, asked.parts);
}

/// With an entry of its own in the record.
Communicator::Ticket FaultyCommunicator::beginAgain(const Asked &asked) {
  FlightOperation operation(asked.name.empty() ? nullptr : recorder,
                            isBetweenTwo(asked.kind) ? FlightKind::Transfer
                                                     : FlightKind::Meeting,
                            asked.name, asked.command);
  const Ticket ticket = begin(asked);
  operation.finish();
  return ticket;
}

void FaultyCommunicator::beginHeld() {
  const Asked asked = std::move(*held);
  held.reset();
  Later &instead = later[heldTicket];
  instead.replaces = true;
  instead.ticket = beginAgain(asked);
}

Communicator::Ticket FaultyCommunicator::startAs(const InjectedFault &fault,
                                                 Asked asked) {
  Transfer *first = asked.parts.empty() ? nullptr : &asked.parts.front();
  switch (fault.kind) {
  case FaultKind::Skip:
  case FaultKind::Reorder: {
    const Ticket ticket = kNotStarted | ++notStarted;
    later[ticket].replaces = true;
    if (fault == FaultKind::Reorder) {
      held = std::move(asked);
      heldTicket = ticket;
    }
    return ticket;
  }
  case FaultKind::Double: {
    const Ticket ticket = begin(asked);
    later[ticket].ticket = beginAgain(asked);
    return ticket;
  }
  case FaultKind::Payload:
    if (first && first->count)
      --first->count;
    return begin(asked);
  case FaultKind::Flip:
    if (first)
      flipBit(const_cast<void *>(first->send),
              bytesOf(*first, sendsToEach(asked.kind), ranks()), fault.bit);
    return begin(asked);
  case FaultKind::Wire: {
    const Ticket ticket = begin(asked);
    if (first) {
      later[ticket].flipped = *first;
      later[ticket].bit = fault.bit;
      later[ticket].bytes =
          bytesOf(*first, receivesFromEach(asked.kind), ranks());
    }
    return ticket;
  }
  default:
    return begin(asked);
  }
}

void FaultyCommunicator::wait(Ticket ticket) {
  faults.next(kWaitOperation, "wait");
  if (held && ticket == heldTicket) {
    faults.tell("rank " + std::to_string(rank()) +
                ": waits for it before it starts another one: nothing has "
                "changed places");
    beginHeld();
  }
  const auto found = later.find(ticket);
  if (found == later.end())
    return inner.wait(ticket);
  const Later then = found->second;
  later.erase(found);
  if (!then.replaces)
    inner.wait(ticket);
  if (then.ticket)
    inner.wait(*then.ticket);
  if (then.flipped && then.flipped->receive)
    flipBit(then.flipped->receive, then.bytes, then.bit);
}

std::unique_ptr<Communicator>
FaultyCommunicator::wrap(std::unique_ptr<Communicator> part) {
  return std::unique_ptr<Communicator>(
      new FaultyCommunicator(std::move(part), faults, recorder));
}
